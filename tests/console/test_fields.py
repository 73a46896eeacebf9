"""Text that a database may refuse is kept, told apart and read as it was."""

from __future__ import annotations

import pytest

from console import fields
from console.models import AuditEntry, Cluster, Event, LagSummary
from workers.kinds.analysis_rows import LAGS, VERSION, save

AWKWARD = ["a\0b", "a␀b", "a␀0b", "\0", "␀", "␀␀", "\0\0", "␀\0", "0␀0", "plain"]


def test_nothing_is_refused_and_all_stays_different() -> None:
    forms = [fields.written(text) for text in AWKWARD]
    assert not any("\0" in form for form in forms)
    assert len(set(forms)) == len(AWKWARD)
    assert [fields.read(form) for form in forms] == AWKWARD


@pytest.mark.parametrize("most", [10, 20, 255])
def test_what_is_too_long_fits_and_stays_different(most: int) -> None:
    forms = [fields.written("\0" * 300 + end, most) for end in ("1", "2")]
    assert all(len(form) <= most for form in forms)
    assert forms[0] != forms[1]
    assert fields.written("x" * most, most) == "x" * most


def test_one_groups_name_does_not_fail_the_batch(local: Cluster) -> None:
    groups = [*AWKWARD, "x" * 300 + "1", "x" * 300 + "2"]
    lag = [
        {"cluster": "local", "group": group, "topic": "t", "window_start_ms": 0} | dict.fromkeys(LAGS.values(), number)
        for number, group in enumerate(groups)
    ]
    summary = {"version": VERSION, "ended_at_ms": 0, "tables": {"lag": {"rows": lag}}}
    for _ in range(2):
        assert save(local, summary) == {"throughput": 0, "lag": len(groups)}
    assert LagSummary.objects.count() == len(groups)
    assert [LagSummary.objects.get(group=group).lag_max for group in groups] == list(range(len(groups)))
    assert set(AWKWARD) < set(LagSummary.objects.values_list("group", flat=True))


def test_events_and_the_audit_keep_names_as_they_are(local: Cluster) -> None:
    Event.objects.create(cluster=local, at_ms=1, kind="k", level="info", sentence="group a\0b", group="a\0b")
    assert Event.objects.get(group="a\0b").sentence == "group a\0b"
    before = {"a\0b": ["\0", "\\u0000", 1, None, {"x": "␀"}]}
    AuditEntry.objects.create(actor="a", via="rest", action="x", target="a\0b", before=before, outcome="done")
    found = AuditEntry.objects.get(target="a\0b")
    assert (found.before, found.after) == (before, None)
