"""The questions in the order in which the page asks them."""

from __future__ import annotations

from collections.abc import Mapping

from console.rules.analysis.disks import when_full
from console.rules.analysis.lags import who_falls_behind
from console.rules.analysis.load import which_broker_is_hot, which_topic_grows
from console.rules.analysis.model import NONE, Answer, Table
from console.rules.analysis.partitions import what_flaps, what_is_uneven
from console.rules.analysis.usual import what_changed, what_is_unusual


def answers(tables: Mapping[str, Table]) -> list[Answer]:
    """Of the last analysis' tables, by name; none where it had no samples: what nobody looked at is not called quiet."""
    if not any(table.rows for table in tables.values()):
        return []

    def of(name: str) -> Table:
        return tables.get(name, NONE)

    return [
        when_full(of("disks")),
        who_falls_behind(of("catching_up"), of("lags")),
        which_topic_grows(of("two_days")),
        which_broker_is_hot(of("two_days")),
        what_is_unusual(of("profile")),
        what_changed(of("two_days")),
        what_is_uneven(of("skew")),
        what_flaps(of("flapping")),
    ]
