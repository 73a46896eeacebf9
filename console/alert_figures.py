"""The figures that alerts are judged by, of one cluster, read once for all of its rules: in proportion to brokers and to the groups that
are behind, whatever the partitions are."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from console.lagging import losing_in_s
from console.rules.alerts.figures import FIGURES, LOSES_IN, GroupSeen, Scope, Value
from console.snapshot.read import Snapshot, SnapshotUnavailable

GROUPS_LOOKED_AT = 200
"""Those with the most lag, and those of open alerts."""


class Figures(NamedTuple):
    """Of each figure that was asked for its value by target (empty: the cluster). `is_known`: the cluster tells; what is not among the
    values then is there no more, or has nothing to tell of."""

    is_known: bool
    values: Mapping[str, Mapping[str, Value]]


NOTHING = Figures(False, {})


def read_figures(snapshot: Snapshot, names: Collection[str], groups: Collection[str]) -> Figures:
    """`groups` are looked at whatever their lag is."""
    try:
        cluster = snapshot.cluster()
        if cluster is None or not snapshot.is_kept() or cluster.verdict is None or cluster.verdict.level == "unknown":
            return NOTHING
        wanted = {FIGURES[name].scope for name in names}
        objects: dict[Scope, dict[str, object]] = {"cluster": {"": cluster}}
        if "broker" in wanted:
            objects["broker"] = {str(one.broker_id): one for one in snapshot.brokers()}
        if "group" in wanted:
            looked_at = {*snapshot.groups_behind(GROUPS_LOOKED_AT), *groups}
            objects["group"] = _groups(snapshot, sorted(looked_at), LOSES_IN in names)
    except SnapshotUnavailable:
        return NOTHING
    values = {name: {target: FIGURES[name].of(one) for target, one in objects[FIGURES[name].scope].items()} for name in names}
    return Figures(True, values)


def _groups(snapshot: Snapshot, names: list[str], with_losses: bool) -> dict[str, object]:
    losing = losing_in_s(snapshot, names) if with_losses else {}
    return {one.group: GroupSeen(one, losing.get(one.group)) for one in snapshot.groups(names)}
