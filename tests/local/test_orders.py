"""Orders that keep a process down, and the file of what ended by itself that the console reads: both outlive their writer."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_core.local import process_events
from broker_core.local.layout import Layout
from broker_core.local.orders import Order, forget, order_down, ordered_down


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout.from_environment(tmp_path / "data", {})


def test_an_order_lasts_until_it_is_forgotten(layout: Layout) -> None:
    assert ordered_down(layout, "broker-2") is None
    order_down(layout, "broker-2", "killed")
    found = ordered_down(Layout.from_environment(layout.root, {}), "broker-2")
    assert found is not None
    assert (found.how, found.at_ms > 10**12) == ("killed", True)
    assert ordered_down(layout, "broker-1") is None
    forget(layout, "broker-2")
    forget(layout, "broker-2")
    assert ordered_down(layout, "broker-2") is None


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"how": "killed", "at_ms": null}', "null"])
def test_an_order_that_cannot_be_read_is_one_all_the_same(layout: Layout, content: str) -> None:
    (layout.folder("run") / "broker-2.down").write_text(content)
    assert ordered_down(layout, "broker-2") == Order("stopped", 0)


def note(layout: Layout, sentence: str) -> None:
    process_events.note(layout, "broker-2", 2, kind=process_events.ENDED, level="bad", sentence=sentence)


def test_a_reader_gets_each_ending_once_and_the_file_stays_small(layout: Layout) -> None:
    assert process_events.read(layout.root) == []
    for number in range(process_events.ENTRIES_MAX + 5):
        note(layout, str(number))
    found = process_events.read(layout.root)
    assert [entry.sentence for entry in found] == [str(number) for number in range(5, process_events.ENTRIES_MAX + 5)]
    times = [entry.at_ms for entry in found]
    assert times == sorted(set(times)), "each later than the one before"
    note(layout, "new")
    assert [entry.sentence for entry in process_events.read(layout.root, after_ms=times[-1])] == ["new"]
    assert process_events.read(layout.root, after_ms=process_events.read(layout.root)[-1].at_ms) == []


@pytest.mark.parametrize("content", [b"", b"[", b"{}", b'[{"at_ms": "x"}]', b"\xff"])
def test_a_broken_file_of_events_is_begun_anew(layout: Layout, content: bytes) -> None:
    (layout.folder("run") / "events.json").write_bytes(content)
    assert process_events.read(layout.root) == []
    note(layout, "first")
    assert [entry.sentence for entry in process_events.read(layout.root)] == ["first"]
