"""Names: of values (`partition/orders/3`, as the websocket has them) and of the Redis keys they lie in. Pure."""

from __future__ import annotations

from urllib.parse import quote, unquote

CLUSTER = "cluster"
COLLECTOR, RECORDER = "hw:collector", "hw:history:recorder"
"""The Redis keys of when the collector of other clusters and the recorder of the past last said that they live, of no cluster."""
SAFE = "!~*'()"
"""What a browser's encodeURIComponent leaves as it is, beside letters, digits and `-_.`."""


def broker(broker_id: int) -> str:
    return f"broker/{broker_id}"


def topic(name: str) -> str:
    return f"topic/{name}"


def partition(name: str, number: int) -> str:
    return f"partition/{name}/{number}"


def group(name: str) -> str:
    return f"group/{quote(name, safe=SAFE)}"


def rhythm(name: str) -> str:
    """What was learnt of a group's rhythm: for the next owner, no page reads it."""
    return f"rhythm/{quote(name, safe=SAFE)}"


def lag(name: str, topic_name: str, number: int) -> str:
    return f"lag/{quote(name, safe=SAFE)}/{topic_name}/{number}"


def reader(topic_name: str, name: str) -> str:
    return f"reader/{topic_name}/{quote(name, safe=SAFE)}"


def job(job_id: int) -> str:
    return f"job/{job_id}"


def event(event_id: int) -> str:
    return f"event/{event_id}"


def prefix(cluster_id: str) -> str:
    return f"hw:{{{cluster_id}}}:"


def place(cluster_id: str, key: str) -> tuple[str, str]:
    """The Redis hash and the field in it that hold a value."""
    kind, _, rest = key.partition("/")
    base = prefix(cluster_id)
    if kind == "partition":
        name, _, number = rest.rpartition("/")
        return f"{base}partitions:{name}", number
    if kind == "lag":
        name, topic_name, number = rest.split("/")
        return f"{base}lag:{unquote(name)}", f"{topic_name}/{number}"
    if kind in ("group", "rhythm"):
        return f"{base}{kind}s", unquote(rest)
    if kind == "reader":
        topic_name, _, name = rest.partition("/")
        return f"{base}readers:{topic_name}", unquote(name)
    return f"{base}{kind}s", rest or kind


def key_at(cluster_id: str, name: str, field: str) -> str | None:
    """The key of what lies in a field of a Redis hash: `place` the other way round; None where the hash is none of values."""
    kind, _, whose = name.removeprefix(prefix(cluster_id)).partition(":")
    if kind == "partitions":
        return f"partition/{whose}/{field}"
    if kind == "lag":
        return f"lag/{quote(whose, safe=SAFE)}/{field}"
    if kind == "readers":
        return reader(whose, field)
    if kind in ("groups", "rhythms"):
        return group(field) if kind == "groups" else rhythm(field)
    return {"clusters": CLUSTER, "brokers": f"broker/{field}", "topics": f"topic/{field}"}.get(kind)


def named(cluster_id: str, name: str) -> str:
    """Redis keys that are not hashes of values.

    `seq`, `changes`, `lease`, `events`, `series`, `clients` (of our own that are silent); `beat`, when the owner last wrote, `oldest`, when
    the oldest part of what it wrote was last known true, and `due`, after when the first part of it is stale; `fresh_since` (`steady`);
    `group_lag` of all; the
    channel `ask`, of what is to be asked for at once; indexes of names:
    `topic_names`, `group_names`, by each column of their lists `topics_by:lag`, `groups_by:lag` (see `sorting`), and by how bad it is
    `trouble` (partitions as `orders/3`) and `trouble_topics`; of what a broker has `hosted:1`, `led:1` and the hash `placed` (see
    `placed`); by lag `groups_behind`, and of a topic's readers `reader_lag:orders`.
    """
    return prefix(cluster_id) + name
