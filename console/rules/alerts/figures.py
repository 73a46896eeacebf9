"""Which figures a rule may judge, of what, and in which unit; and the rules that every cluster has. Pure.

A figure is None where it is not known. Those that are yes or no are 1 or 0. Names, thresholds and severities are those of the Prometheus
rules where the subject is the same.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from broker_core.contract.groups import Group
from broker_core.contract.live import Broker, Cluster
from console.errors import Invalid
from console.rules.words import duration, size, whole

Scope = Literal["cluster", "broker", "group"]
Value = float | None
SEVERITIES = ("critical", "warning", "notice")
COMPARISONS: dict[str, Callable[[float, float], bool]] = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
FOR_S_MAX = 86_400
NAME_MAX, SENTENCE_MAX = 60, 300
THRESHOLD_MAX = 1e15
LOSES_IN = "group_loses_in_s"


class Figure(NamedTuple):
    """`page` is the name of the page where to act, `say` writes a value."""

    scope: Scope
    text: str
    of: Callable[[Any], Value]
    say: Callable[[float], str] = whole
    page: str = ""


def _yes(value: float) -> str:
    return "yes" if value else "no"


def _percent(value: float) -> str:
    return f"{value:.0f} %"


def _time(value: float) -> str:
    return "not at the present rate" if math.isinf(value) else duration(value)


def _until_loss(value: float) -> str:
    if math.isinf(value):
        return "none is ahead"
    return duration(value) if value else "some are lost"


def _brokers_offline(cluster: Cluster) -> Value:
    known = cluster.brokers_total is not None and cluster.brokers_online is not None
    return (cluster.brokers_total or 0) - (cluster.brokers_online or 0) if known else None


def _no_controller(cluster: Cluster) -> Value:
    """Of a cluster whose store is not heard nobody knows."""
    store = cluster.feed and cluster.feed.store
    return None if store is None or store.state != "live" else float(cluster.controller_id is None)


def _silent(broker: Broker) -> Value:
    return float(broker.state == "offline" or broker.feed.state != "live")


def _used(broker: Broker) -> Value:
    folder = broker.log_dir
    if broker.feed.state != "live" or folder is None or folder.free_bytes is None or not folder.total_bytes:
        return None
    return 100 * (1 - folder.free_bytes / folder.total_bytes)


def _full_in(broker: Broker) -> Value:
    """Without end where it does not fill."""
    folder = broker.log_dir
    if broker.feed.state != "live" or folder is None or folder.free_bytes is None:
        return None
    return math.inf if folder.full_in_s is None else folder.full_in_s


def _heard(name: str) -> Callable[[Broker], Value]:
    return lambda broker: getattr(broker, name) if broker.feed.state == "live" else None


class GroupSeen(NamedTuple):
    """A group, and in how many seconds it may lose a record to retention: read only where a rule judges it."""

    group: Group
    loses_in_s: Value


def _alarm(seen: GroupSeen) -> Value:
    return None if seen.group.lag is None else float(seen.group.attention == "warn")


FIGURES: dict[str, Figure] = {
    "offline": Figure("cluster", "partitions without a leader", lambda c: c.offline, page="topics"),
    "under_min_isr": Figure("cluster", "partitions under min.insync.replicas", lambda c: c.under_min_isr, page="topics"),
    "under_replicated": Figure("cluster", "partitions that lack a replica in sync", lambda c: c.under_replicated, page="topics"),
    "brokers_offline": Figure("cluster", "brokers that do not run", _brokers_offline, page="brokers"),
    "no_controller": Figure("cluster", "no broker is the controller", _no_controller, _yes, "controller"),
    "produce_bytes_per_s": Figure(
        "cluster", "bytes produced a second", lambda c: c.produce_bytes_per_s, lambda v: f"{size(v)}/s", "overview"
    ),
    "broker_silent": Figure("broker", "the broker is down or silent", _silent, _yes, "brokers"),
    "broker_disk_used_percent": Figure("broker", "share of its disk that is used", _used, _percent, "brokers"),
    "broker_disk_full_in_s": Figure("broker", "seconds until its disk is full at the present rate", _full_in, _time, "brokers"),
    "broker_idle_percent": Figure("broker", "share of its time in which it has nothing to do", _heard("idle_percent"), _percent, "brokers"),
    "broker_connections": Figure("broker", "open client connections", _heard("connections"), page="brokers"),
    "group_alarm": Figure("group", "the group is behind, out of its own rhythm", _alarm, _yes, "groups"),
    "group_lag": Figure("group", "records that the group has not read yet", lambda g: g.group.lag, page="groups"),
    "group_lag_s": Figure(
        "group", "age of the oldest record that it has not read yet, in seconds", lambda g: g.group.lag_s, duration, "groups"
    ),
    LOSES_IN: Figure(
        "group", "seconds until retention may delete a record that it has not read", lambda g: g.loses_in_s, _until_loss, "groups"
    ),
}


RECORDED = {"broker_idle_percent": "idle_percent", "group_lag": "lag", "group_lag_s": "lag_s"}
"""Figures that the history keeps over time, by their names there."""


class Condition(NamedTuple):
    figure: str
    comparison: str
    threshold: float
    for_s: int

    def holds(self, value: Value) -> bool | None:
        return None if value is None else COMPARISONS[self.comparison](value, self.threshold)


class Shipped(NamedTuple):
    """`unless` is another one's name."""

    name: str
    severity: str
    condition: Condition
    sentence: str
    unless: str = ""


SHIPPED = (
    Shipped("NoController", "critical", Condition("no_controller", ">", 0, 60), "No broker is the controller: no leader can move."),
    Shipped("BrokerDown", "critical", Condition("broker_silent", ">", 0, 60), "The broker has not been heard for a minute."),
    Shipped("OfflinePartitions", "critical", Condition("offline", ">", 0, 60), "Partitions have no leader: nobody can write or read them."),
    Shipped(
        *("UnderMinIsr", "critical", Condition("under_min_isr", ">", 0, 120)),
        "Partitions have fewer replicas in sync than min.insync.replicas: writes with acks=all fail.",
        "OfflinePartitions",
    ),
    Shipped(
        "DiskNearlyFull", "warning", Condition("broker_disk_used_percent", ">", 90, 600), "The broker’s disk is more than nine tenths full."
    ),
    Shipped(
        *("DiskFilling", "warning", Condition("broker_disk_full_in_s", "<", 86_400, 600)),
        "The broker’s disk will be full within a day at the present rate.",
    ),
    Shipped(
        *("LossAhead", "critical", Condition(LOSES_IN, "<", 7_200, 60)),
        "Within two hours retention may delete records that the group has not read, or has deleted some.",
    ),
    Shipped(
        *("GroupBehind", "warning", Condition("group_alarm", ">", 0, 600)),
        *("The group is behind, out of its own rhythm.", "OfflinePartitions"),
    ),
)


def checked(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What a rule is kept as; `Invalid` names the field that is wrong."""
    name, sentence = " ".join(str(asked["name"]).split()), " ".join(str(asked["sentence"]).split())
    if not 1 <= len(name) <= NAME_MAX:
        raise Invalid("name", f"Give it a name of 1 to {NAME_MAX} characters.")
    if not 1 <= len(sentence) <= SENTENCE_MAX:
        raise Invalid("sentence", f"Say in 1 to {SENTENCE_MAX} characters what it means when it fires.")
    for field, known in (("figure", FIGURES), ("comparison", COMPARISONS), ("severity", SEVERITIES)):
        if asked[field] not in known:
            raise Invalid(field, f"{str(asked[field])[:60]!r} is none of {', '.join(known)}.")
    return {
        "name": name,
        "sentence": sentence,
        **{field: asked[field] for field in ("figure", "comparison", "severity")},
        "threshold": _number("threshold", asked["threshold"], THRESHOLD_MAX),
        "for_s": int(_number("for_s", asked["for_s"], FOR_S_MAX)),
    }


def _number(field: str, given: Any, most: float) -> float:
    try:
        found = float(given)
    except (TypeError, ValueError):
        found = math.nan
    if not 0 <= found <= most:
        raise Invalid(field, f"Give a number from 0 to {whole(most)}.")
    return found
