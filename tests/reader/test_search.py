"""Searches over real records: every start and filter, what is hidden in the log, hostile records, and what ends a search early."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from console.rules.records.progress import Found, Progress, next_cursor, sentence
from console.searches import store
from tests.reader.conftest import Topic
from tests.support.cluster import eventually
from workers.reader import run as limits

DAY_MS = 1_700_000_000_000


def offsets(found: list[Found]) -> list[int]:
    return [one.offset for one in found]


def numbered(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"value": f"value {n}", "key": f"key {n}", "timestamp": DAY_MS + n, "partition": 0, **more} for n in range(count)]


def whole(progress: Progress) -> int:
    return sum(span.records + span.empty + span.lost for span in progress.spans)


def test_the_newest_come_first(topic: Topic) -> None:
    topic.write(*numbered(300))
    progress, found = topic.search(count=5)
    assert offsets(found) == [299, 298, 297, 296, 295]
    assert (progress.state, progress.found) == ("full", 5)
    assert found[0].value is not None and found[0].value.text == "value 299"
    assert found[0].key is not None and found[0].key.text == "key 299"
    assert (found[0].timestamp_ms, found[0].timestamp_type) == (DAY_MS + 299, "create")


def test_the_newest_of_several_partitions_come_in_the_order_of_time(new_topic: Callable[..., Topic]) -> None:
    topic = new_topic(3)
    topic.write(*({"value": "x", "timestamp": DAY_MS + n, "partition": n % 3} for n in range(30)))
    _, found = topic.search(count=10)
    assert [one.timestamp_ms for one in found] == [DAY_MS + n for n in range(29, 19, -1)]


def test_a_search_for_the_newest_goes_back_to_the_beginning_and_is_continued_without_loss(new_topic: Callable[..., Topic]) -> None:
    topic = new_topic(2)
    topic.write(*({"value": "wanted" if n % 50 == 0 else "x", "timestamp": DAY_MS + n, "partition": n % 2} for n in range(2000)))
    seen: list[tuple[int, int]] = []
    query: dict[str, Any] = {"text": "wanted", "count": 7}
    while True:
        search = topic.asked(**query)
        progress, found = topic.read(search)
        seen += [(one.partition, one.offset) for one in found]
        at = next_cursor(search.query, progress)
        if at is None:
            break
        query["at"] = at
    assert len(seen) == len(set(seen)) == 40


def test_from_the_beginning_all_are_read_and_counted(new_topic: Callable[..., Topic]) -> None:
    topic = new_topic(3)
    topic.write(*({"value": "x", "partition": n % 3} for n in range(100)))
    search = topic.asked(start="oldest", count=500)
    progress, found = topic.read(search)
    assert progress.state == "done"
    assert len(found) == len({(one.partition, one.offset) for one in found}) == 100
    assert whole(progress) == 100
    assert "100 records found" in sentence(search.query, progress)
    assert "nothing was skipped" in sentence(search.query, progress)


def test_a_search_that_is_full_goes_on_where_it_was(topic: Topic) -> None:
    topic.write(*numbered(100))
    first = topic.asked(start="oldest", count=30)
    progress, found = topic.read(first)
    assert (progress.state, offsets(found)) == ("full", list(range(30)))
    topic.write(*numbered(5))
    second, more = topic.search(start="oldest", count=500, at=next_cursor(first.query, progress))
    assert offsets(more) == list(range(30, 100)), "the end stays as it was when the search began"
    assert second.state == "done"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"start": "offset", "offset": 95}, [95, 96, 97, 98, 99]),
        ({"start": "offset", "offset": 5000}, []),
        ({"start": "time", "time": "2023-11-14T22:13:20.097"}, [97, 98, 99]),
        ({"start": "oldest", "time": "2023-11-14T22:13:20.010", "until": "2023-11-14T22:13:20.012"}, [10, 11, 12]),
        ({"start": "newest", "time": "2023-11-14T22:13:20.098"}, [99, 98]),
        ({"start": "time", "time": "2033-01-01T00:00"}, []),
        ({"start": "oldest", "text": "value 7"}, [7, *range(70, 80)]),
        ({"start": "oldest", "text": "VALUE 70"}, []),
        ({"start": "oldest", "text": "VALUE 70", "case": "0"}, [70]),
        ({"start": "oldest", "text": "key 42", "where": "key"}, [42]),
        ({"start": "oldest", "text": "key 42", "where": "value"}, []),
        ({"start": "oldest", "text": "key 42"}, [42]),
        ({"start": "oldest", "text": "^value [5-7]$", "regex": "1"}, [5, 6, 7]),
        ({"start": "oldest", "text": "^KEY 3.$", "regex": "1", "case": "0", "where": "key"}, list(range(30, 40))),
        ({"start": "oldest", "partition": 0, "text": "value 11"}, [11]),
    ],
)
def test_starts_and_filters(topic: Topic, query: dict[str, Any], expected: list[int]) -> None:
    topic.write(*numbered(100))
    progress, found = topic.search(**{"count": 500, **query})
    assert offsets(found) == expected
    assert progress.state == "done"


def test_headers_and_json_paths(topic: Topic) -> None:
    values: list[Any] = ['{"a": {"b": 1}, "s": "x"}', '{"a": {"b": 2}}', '{"list": [{"n": 5}, {"n": 9}]}', "no json", "{", None]
    topic.write(
        *({"value": value, "headers": [("n", str(n).encode()), ("twice", b"1"), ("twice", b"2")]} for n, value in enumerate(values))
    )
    wanted = {
        ("header", "n=3"): [3],
        ("header", "n"): [0, 1, 2, 3, 4, 5],
        ("header", "twice=2"): [0, 1, 2, 3, 4, 5],
        ("header", "missing"): [],
        ("path", "$.a"): [0, 1],
        ("path", "$.list[?@.n > 8]"): [2],
        ("path", "$..n"): [2],
    }
    for (name, text), expected in wanted.items():
        assert offsets(topic.search(start="oldest", **{name: text})[1]) == expected, text
    assert offsets(topic.search(start="oldest", path="$.a.b", equals="2")[1]) == [1]
    assert offsets(topic.search(start="oldest", path="$.s", equals="x")[1]) == [0]
    _, found = topic.search(start="oldest", header="n=5")
    assert found[0].value is None, "a tombstone has no value"
    assert [(header.name, header.value and header.value.text) for header in found[0].headers] == [
        ("n", "5"),
        ("twice", "1"),
        ("twice", "2"),
    ]


def test_whatever_a_record_holds_is_shown_as_text(topic: Topic) -> None:
    values = [
        b"<script>alert(1)</script>",
        b"\x00\xff\xfe binary",
        b"\x82\xa1a\x01\xa1b\x02",
        b"[" * 100_000,
        b"\xed\xa0\x80",
        b"",
        "日本".encode(),
    ]
    topic.write(*({"value": value, "key": b"\x00\x01"} for value in values))
    progress, found = topic.search(start="oldest")
    assert progress.state == "done"
    texts = [(one.value.format, one.value.text[:24]) for one in found if one.value]
    assert texts[0] == ("string", "<script>alert(1)</script")
    assert texts[1][0] == "hex" and texts[1][1].startswith("00000000  00 ff fe")
    assert texts[2][0] == "msgpack"
    assert texts[3][0] in ("json", "string"), "nested too deeply to be parsed, it is shown as it is"
    assert [form for form, _ in texts[4:]] == ["hex", "string", "string"]
    _, numbers = topic.search(start="oldest", value="long", key="int")
    assert all(one.value and one.value.note for one in numbers), "that the chosen format does not fit is said"


def test_a_huge_record_is_kept_in_part_and_told_in_size(topic: Topic) -> None:
    topic.write({"value": b"a" * 50_000_000 + b"needle", "partition": 0}, {"value": b"small", "partition": 0})
    progress, found = topic.search(start="oldest", text="needle")
    assert (progress.state, offsets(found)) == ("done", [0])
    value = found[0].value
    assert value is not None and value.size == 50_000_006 and value.cut and len(value.text) < 5000


def test_a_pattern_that_would_run_for_ever_elsewhere_does_not(topic: Topic) -> None:
    topic.write({"value": b"a" * 100_000 + b"!"})
    progress, found = topic.search(start="oldest", text="^(a+)+$", regex="1")
    assert (progress.state, found) == ("done", [])


def test_a_json_path_that_never_ends_is_cut_with_words(topic: Topic) -> None:
    topic.write({"value": b'{"a":' * 60 + b"1" + b"}" * 60})
    progress, _ = topic.search(start="oldest", path="$" + "..*" * 8 + ".nothing")
    assert progress.state == "failed"
    assert "longer than it may" in progress.reason


def test_what_cannot_be_looked_into_is_told(topic: Topic) -> None:
    topic.write({"value": b'{"a":' * 150 + b"1" + b"}" * 150}, {"value": b'{"b": 1}'})
    search = topic.asked(start="oldest", path="$..b")
    progress, found = topic.read(search)
    assert (progress.state, offsets(found)) == ("done", [1])
    assert "1 value was too large or nested too deeply" in sentence(search.query, progress)
    assert "nothing was skipped" not in sentence(search.query, progress)


def test_offsets_without_a_record_are_told_and_are_no_loss(new_topic: Callable[..., Topic]) -> None:
    topic = new_topic(1, cleanup_policy="compact", segment_ms="200", min_cleanable_dirty_ratio="0.01", max_compaction_lag_ms="100")

    def compacted() -> bool:
        topic.write(*({"value": "x" * 500, "key": "same"} for _ in range(10)))
        search = topic.asked(start="oldest", count=500)
        progress, found = topic.read(search)
        (span,) = progress.spans
        assert span.records == len(found)
        assert span.records + span.empty == span.last - span.first  # type: ignore[operator]
        return "hold no record" in sentence(search.query, progress) and span.lost == 0

    eventually(compacted, 120, "the cleaner leaves gaps")


def test_a_search_that_is_stopped_says_how_far_it_came_and_goes_on(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    topic.write(*numbered(5000))
    search = topic.asked(start="oldest", text="value", count=500)
    store.stop(search.id, "enough")
    monkeypatch.setattr(limits, "STOP_LOOK_S", 0.0)
    progress, first = topic.read(search)
    assert progress.state in ("stopped", "full")
    if progress.state == "stopped":
        assert progress.reason == "enough"
        store.go_on(search)
        progress, first = topic.read(search)
    assert (progress.state, offsets(first)) == ("full", list(range(500)))


def test_nothing_comes_twice_from_a_reader_that_was_taken_for_dead(topic: Topic) -> None:
    topic.write(*numbered(10))
    search = topic.asked(start="oldest")
    late = store.begin(search)
    assert late is not None
    store.give_up(search, "it was silent")
    store.go_on(search)
    progress, found = topic.read(search)
    assert (progress.state, offsets(found)) == ("done", list(range(10)))
    late.state = "done"
    with pytest.raises(store.Overtaken):
        store.tell(search, late, found, keep=100)
    assert len(store.found(search, 0, 100)) == 10


def test_live_records_are_those_that_come_from_now_on(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    topic.write(*numbered(10))
    search = topic.asked(start="live")
    seen: list[int] = []

    def look(search_id: str) -> str | None:
        if not seen:
            topic.write(*numbered(3))
        seen.append(store.progress(search_id).found)
        return "seen" if seen[-1] == 3 else None

    monkeypatch.setattr(limits.store, "stopped", look)
    progress, found = topic.read(search)
    assert (progress.state, offsets(found)) == ("stopped", [10, 11, 12])


def test_what_cannot_be_read_says_why(topic: Topic, new_topic: Callable[..., Topic]) -> None:
    progress, _ = topic.search(start="oldest", partition=7)
    assert progress.state == "failed" and "no partition 7" in progress.reason
    absent = Topic(topic.cluster, "never-made")
    progress, _ = absent.search(start="oldest")
    assert progress.state == "failed" and "UNKNOWN_TOPIC_OR_PARTITION" in progress.reason


def test_whoever_has_too_many_searches_loses_the_oldest(topic: Topic) -> None:
    first, second, third = (topic.asked(start="live") for _ in range(3))
    assert "newer search" in (store.stopped(first.id) or "")
    assert store.stopped(second.id) is None and store.stopped(third.id) is None


def test_who_wrote_each_record_is_told(new_topic: Callable[..., Topic]) -> None:
    topic = new_topic(partitions=1)
    topic.write(*numbered(5), **{"linger.ms": 200})
    topic.write({"value": "plain"}, **{"enable.idempotence": False})
    topic.write(*numbered(3), **{"linger.ms": 200})
    for start in ("oldest", "newest"):
        progress, found = topic.search(start=start, origin=1, count=100)
        found.sort(key=lambda one: one.offset)
        origins = [one.origin for one in found]
        assert all(origin is not None for origin in origins) and not progress.origin_missing
        first, plain, last = origins[0], origins[5], origins[8]
        assert (
            first
            and plain
            and last
            and first.producer_id is not None
            and first.sentence.startswith(f"Producer {first.producer_id}, epoch 0, sequence 0")
        )
        assert [origin.sequence for origin in origins if origin] == [0, 1, 2, 3, 4, None, 0, 1, 2]
        assert (plain.producer_id, plain.sentence) == (None, "No producer id: not idempotent.")
        assert last.producer_id not in (None, first.producer_id)
        assert first.base_offset <= 0 <= first.last_offset
    assert all(one.origin is None for one in topic.search(start="oldest")[1]), "only where it is asked for"


def test_in_a_compacted_topic_too(new_topic: Callable[..., Topic]) -> None:
    topic = new_topic(partitions=2)
    topic.write(*numbered(400, partition=1))
    _, found = topic.search(start="oldest", origin=1, count=500, partition=1)
    assert [one.origin.sequence for one in found if one.origin] == list(range(400)), "over several answers"
