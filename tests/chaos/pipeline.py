"""`python -m tests.chaos.pipeline --seed 7 --minutes 10`: every process between a figure and its window is killed at seeded moments while a
driver stays; exit status 1 when a sample was lost or counted twice, or when a window differs from what one undisturbed driver makes of the
same topic.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import django

from broker_core.cli import system as programs
from broker_core.cli.tokens import make_token
from broker_core.local.layout import BROKER_IDS
from broker_core.local.services import redis_process, start_redis
from console.live.sampling.samples import SAMPLES_PARTITIONS, SAMPLES_TOPIC
from tests.support.clients import read_all
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.rest import Rest, Visitor
from workers.spark.store.compaction import IDENTITY

PROGRAMS = ("live", "worker", "beat", "console")
VICTIMS = (*PROGRAMS, "redis", "driver", *(f"broker-{number}" for number in BROKER_IDS))
SERIES = {
    "topics": ("topic",),
    "topics_week": ("topic",),
    "brokers": ("broker",),
    "lag": ("group", "topic"),
    "lag_week": ("group", "topic"),
}
ANSWER_S, DRIVER_S = 600.0, 600.0
CLOSE = 1e-9


class Kill(NamedTuple):
    """Whom, how long it stays dead, and how long nothing happens then."""

    victim: str
    dead_s: float
    quiet_s: float


def kills(seed: int) -> Iterator[Kill]:
    """Without end: each round has every process once, in an order of its own."""
    rng = random.Random(seed)
    while True:
        for victim in rng.sample(VICTIMS, len(VICTIMS)):
            yield Kill(victim, round(rng.uniform(0, 4), 1), round(rng.uniform(1, 12), 1))


def carry_out(system: ConsoleSystem, kill: Kill) -> str:
    """Kills with SIGKILL and starts it again; the driver is started again by who looks after it. Returns what was done."""
    if kill.victim == "driver":
        pid = system.program("analytics").pid()
        if pid is None:
            return "no driver to kill"
        os.killpg(os.getpgid(pid), signal.SIGKILL)
        time.sleep(kill.dead_s)
        return f"driver {pid}"
    if kill.victim.startswith("broker-"):
        number = int(kill.victim.removeprefix("broker-"))
        system.kill(number)
        time.sleep(kill.dead_s)
        system.start(number)
    elif kill.victim == "redis":
        redis_process(system.layout).kill()
        time.sleep(kill.dead_s)
        start_redis(system.layout)
    else:
        system.kill_program(kill.victim)
        time.sleep(kill.dead_s)
        system.start_program(kill.victim)
    return kill.victim


def windows(summary: dict[str, Any]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """All rows of the series, by table, name and window; a window that is there twice is told by the table's name."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for table, names in SERIES.items():
        for row in summary["tables"].get(table, {}).get("rows", ()):
            key = (table, *(row[name] for name in names), row["window_start_ms"])
            found[(*key, "twice") if key in found else key] = row
    return found


def differences(one: dict[tuple[Any, ...], dict[str, Any]], other: dict[tuple[Any, ...], dict[str, Any]]) -> list[str]:
    found = [f"{key} is only in the first" for key in one.keys() - other.keys()]
    found += [f"{key} is only in the second" for key in other.keys() - one.keys()]
    for key in one.keys() & other.keys():
        found += [f"{key} {name}: {value} and {other[key][name]}" for name, value in one[key].items() if not _same(value, other[key][name])]
    return sorted(found)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=CLOSE)
    return bool(one == other)


def each_once(system: ConsoleSystem) -> tuple[int, int]:
    """How many different samples there are in the topic, and how many records: one whose writer was not answered may be there twice."""
    rows = [json.loads(row.value() or b"{}") for row in read_all(system, SAMPLES_TOPIC, 0, SAMPLES_PARTITIONS)]
    return len({tuple(row.get(name) for name in IDENTITY) for row in rows}), len(rows)


def answered(rest: Rest) -> int:
    job = rest.until(rest.start("analytics"), ANSWER_S)
    assert job["state"] == "succeeded", job
    return int(job["result"]["samples"])


def undisturbed(system: ConsoleSystem, folder: Path) -> dict[str, Any]:
    """What one driver makes of the whole topic."""
    command = [
        "-m",
        "workers.spark.job",
        "--bootstrap-servers",
        system.bootstrap_servers,
        "--topic",
        SAMPLES_TOPIC,
        "--folder",
        str(folder),
    ]
    subprocess.run([sys.executable, *command], cwd=programs.ROOT, check=True, timeout=DRIVER_S, capture_output=True)
    return dict(json.loads((folder / "summary.json").read_text(encoding="utf-8")))


def set_mode(system: ConsoleSystem, value: str) -> None:
    admin = Visitor(system.layout.console_port, system.password)
    assert admin.post("/settings/console", **{"set:analytics.mode": value, "save": "yes"}).status == 303


def go(system: ConsoleSystem, seed: int, minutes: float, scratch: Path) -> list[str]:
    """The run; what was found wrong."""
    programs.start_program(system.layout, next(p for p in programs.programs(system.layout, demo=True) if p.name == "demo"))
    rest = Rest(system.layout.console_port, make_token(system.layout, "pipeline", "operator", None, save=False).token)
    set_mode(system, "continuous")
    eventually(system.program("analytics").alive, ANSWER_S, "a driver by itself")
    end, done = time.monotonic() + minutes * 60, 0
    for kill in kills(seed):
        if time.monotonic() >= end:
            break
        say(f"{carry_out(system, kill)}, dead for {kill.dead_s} s")
        time.sleep(kill.quiet_s)
        done += 1
    say(f"{done} kills; all are up again")
    system.heal()
    eventually(system.program("analytics").alive, ANSWER_S, "a driver by itself")
    system.kill_program("live")
    different, records = each_once(system)
    eventually(lambda: answered(rest) >= different, ANSWER_S, "an answer of all samples")
    count = answered(rest)
    found = [] if count <= records else [f"{count} samples were counted, and the topic has {records} records"]
    kept = json.loads((system.layout.folder("console") / "analytics" / "summary.json").read_text(encoding="utf-8"))
    set_mode(system, "interval")
    say(f"{different} samples in {records} records; {count} are in the store, in {len(windows(kept))} windows")
    return found + differences(windows(kept), windows(undisturbed(system, scratch / "undisturbed")))


def say(words: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {words}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.pipeline", description="The pipeline of analyses under seeded kills.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10.0, help="no kill after so long")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pipeline-") as folder:
        os.environ.update({"HIGHWATER_DATA": f"{folder}/data", "DJANGO_SETTINGS_MODULE": "console.settings"})
        system = ConsoleSystem(Path(folder) / "data")
        try:
            django.setup()  # each REST answer is checked against its description
            system.up()
            wrong = go(system, options.seed, options.minutes, Path(folder))
        finally:
            system.down()
    for one in wrong[:50]:
        say(f"WRONG {one}")
    say(f"{len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
