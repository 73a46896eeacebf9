"""What the lists cost the server: 2 000 topics of 5 partitions and as many groups in a real Redis, pages asked for through Django.

The time is from the request to the answer's last byte, without the network: sign-in, what was chosen last, indexes, rows, template.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.bench.figures import Figure
from tests.support.redis import redis_server

TOPICS, TOPICS_QUICK = 2_000, 100
PARTITIONS = 5
ROUNDS, ROUNDS_QUICK = 30, 3
PAGE_MS, KEY_MS = 100.0, 150.0
WRITE_STEP = 1_000


def lists(quick: bool) -> list[Figure]:
    count, rounds = (TOPICS_QUICK, ROUNDS_QUICK) if quick else (TOPICS, ROUNDS)
    with redis_server() as url, tempfile.TemporaryDirectory() as folder:
        browser, writing_ms = _stage(url, folder, count)
        htmx = {"HX-Request": "true"}
        note = f"{count:,} topics of {PARTITIONS} partitions, {count:,} groups"

        def took(path: str, headers: dict[str, str] | None = None) -> list[float]:
            return [_took_ms(browser, path, headers or {}) for _ in range(rounds)]

        return [
            Figure("topics, by name", "ms", took("/topics?page=3"), at_most=PAGE_MS, note=note),
            Figure("topics, by lag, the least first", "ms", took("/topics?sort=lag&order=asc"), at_most=PAGE_MS),
            Figure("a keystroke in the filter of topics", "ms", took("/topics?q=c-1&sort=size_bytes", htmx), at_most=KEY_MS),
            Figure("topics with lag that a group reads", "ms", took("/topics?lag=1&group=group-7", htmx), at_most=KEY_MS),
            Figure("groups, by lag", "ms", took("/groups?sort=lag"), at_most=PAGE_MS),
            Figure("a keystroke in the filter of groups", "ms", took("/groups?q=p-1", htmx), at_most=KEY_MS),
            Figure("writing all values with their indexes", "ms", [writing_ms]),
        ]


def _stage(url: str, folder: str, count: int) -> tuple[Any, float]:
    """A signed-in browser of a console that has these topics and groups, and how long writing them took."""
    os.environ["HIGHWATER_DATA"] = folder
    Path(folder).joinpath("console").mkdir(exist_ok=True)
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import Client

    settings.REDIS_URL = url
    settings.ALLOWED_HOSTS = ["testserver"]
    call_command("migrate", verbosity=0)
    from console.models import Cluster

    Cluster.objects.create(pk=settings.LOCAL_CLUSTER, name="bench", bootstrap_servers="127.0.0.1:1", is_local=True)
    browser = Client()
    browser.force_login(User.objects.create(username="viewer"))
    return browser, _write(settings.LOCAL_CLUSTER, count)


def _write(cluster_id: str, count: int) -> float:
    from console.snapshot import write
    from console.snapshot.connect import sync_client
    from tests.support.console_world import cluster_state
    from tests.support.feed_rows import batch, group_claim

    now_ms = time.time_ns() // 1_000_000
    state = cluster_state(now_ms, {f"topic-{n}": PARTITIONS for n in range(count)})
    groups = [group_claim(f"group-{n}", {f"topic-{n}": dict.fromkeys(range(PARTITIONS), n % 90)}) for n in range(count)]
    state.apply_batch(batch(1, [], now_ms, groups=groups), now_ms)
    state.take(now_ms)
    items = list(state.everything(now_ms).items())
    began = time.perf_counter()
    for start in range(0, len(items), WRITE_STEP):
        pipe = sync_client().pipeline(transaction=True)
        write.put(pipe, cluster_id, dict(items[start : start + WRITE_STEP]))
        write.beat(pipe, cluster_id, now_ms, now_ms)
        pipe.execute()
    return (time.perf_counter() - began) * 1000


def _took_ms(browser: Any, path: str, headers: dict[str, str]) -> float:
    began = time.perf_counter()
    answer = browser.get(path, headers=headers)
    took_ms = (time.perf_counter() - began) * 1000
    if answer.status_code != 200:
        raise RuntimeError(f"{path} answered {answer.status_code}")
    return took_ms
