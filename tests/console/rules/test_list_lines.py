"""The sentences that the lists of topics and groups open with."""

from __future__ import annotations

import pytest

from broker_core.contract.sentences import Line
from console.rules.list_lines import groups_line, last_known, topics_line


@pytest.mark.parametrize(
    ("topics", "troubled", "counts", "more", "level", "text"),
    [
        (7, 0, {}, {}, "ok", "All 7 topics are safe."),
        (1, 0, {}, {}, "ok", "The one topic is safe."),
        (7, 0, {"deleting": 2}, {}, "ok", "No topic is in danger."),
        (7, 2, {"under_replicated": 3}, {}, "warn", "2 of 7 topics have a partition in danger."),
        (
            7,
            1,
            {"offline": 1, "unknown": 4},
            {},
            "bad",
            "1 of 7 topics has a partition in danger. Of 4 partitions more the state is not known.",
        ),
        (7, 0, {"unknown": 4}, {}, "unknown", "The state of 4 partitions is not known; no other one is in danger."),
        (7, 0, {"starting": 1}, {}, "unknown", "The state of 1 partition is not known; no other one is in danger."),
        (7, 0, {}, {"unheard": True}, "notice", "By their leaders' word all 7 topics are safe."),
        (7, 0, {}, {"is_answered": False}, "unknown", "Whether all 7 topics are safe is not known now."),
    ],
)
def test_topics_are_called_safe_only_where_that_is_known(
    topics: int, troubled: int, counts: dict[str, int], more: dict[str, bool], level: str, text: str
) -> None:
    found = topics_line(topics, troubled, counts, **{"is_answered": True, "unheard": False, **more})
    assert found is not None
    assert (found.level, found.text) == (level, text)


def test_no_topic_is_no_sentence() -> None:
    assert topics_line(0, 0, {}, is_answered=True, unheard=False) is None
    assert groups_line(0, 0, unknown=0, is_heard=True) is None
    assert last_known(None) is None


def test_groups_are_not_called_in_time_while_a_coordinator_is_silent() -> None:
    assert groups_line(3, 0, unknown=0, is_heard=True) == Line("ok", "No group is behind out of its own rhythm.")
    assert groups_line(3, 1, unknown=0, is_heard=True) == Line("warn", "1 of 3 groups is behind out of its own rhythm.")
    silent = groups_line(3, 0, unknown=0, is_heard=False)
    assert silent is not None
    assert silent.level == "unknown"


def test_what_nobody_tells_any_more_is_said_to_be_old() -> None:
    assert last_known(Line("ok", "All 7 topics are safe.")) == Line("unknown", "Last known: All 7 topics are safe.")
