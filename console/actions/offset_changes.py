"""What was committed before a change of a group's offsets, kept so that it can be put back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from console.actions.offset_moves import Move
from console.models import Cluster, OffsetChange, trim
from console.roles import Actor

AUDITED_MAX = 500
"""Partitions of one change that the audit names; all of them are kept with the change."""


@contextmanager
def committing(actor: Actor, cluster: Cluster, group: str, moves: Sequence[Move], *, kind: str, how: str) -> Iterator[OffsetChange]:
    """Kept before the change begins, so that nothing is lost where it breaks off; what could not be done, or not wholly, says so."""
    change = OffsetChange(cluster=cluster, group=group, actor=actor.name[:150], kind=kind, how=how[:200], rows=_packed(moves))
    change.save()
    trim(OffsetChange.objects.all(), OffsetChange.KEEP)
    try:
        yield change
    except BaseException:
        OffsetChange.objects.filter(pk=change.pk).update(outcome="failed")
        raise
    change.outcome = "done"
    change.save()


def _packed(moves: Sequence[Move]) -> dict[str, list[list[int | None]]]:
    found: dict[str, list[list[int | None]]] = {}
    for one in moves:
        found.setdefault(one.topic, []).append([one.partition, one.before, one.after])
    return found


def kept_rows(moves: Sequence[Move]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Before and after, for the audit."""
    some = moves[:AUDITED_MAX]
    return {one.place: one.before for one in some}, {one.place: one.after for one in some}
