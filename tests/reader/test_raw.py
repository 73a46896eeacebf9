"""A record's key and value as they were written: byte for byte, for those from whom nothing of them is hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console.actions import one_record
from console.actions.one_record import raw_part
from console.models import AuditEntry, Cluster
from console.queries import NotFound
from console.roles import Actor, Refused
from console.rules.records.masking import Rule
from console.searches import files, store
from tests.reader.conftest import Topic
from workers.reader import child

VIEWER = Actor("someone", "viewer", "api")
BYTES = bytes(range(256)) * 4_000


@pytest.fixture
def rules() -> list[Rule]:
    return []


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rules: list[Rule]) -> None:
    """Whatever is asked for is read at once, in this process."""
    monkeypatch.setattr(files, "folder", lambda: tmp_path / "exports")
    monkeypatch.setattr(one_record, "topic_or_fail", lambda *_: None)
    monkeypatch.setattr(one_record, "rules_for", lambda *_: tuple(rules))
    ask = store.ask
    monkeypatch.setattr(one_record.store, "ask", lambda search: (ask(search), child.read(search)))


def had(topic: Topic, offset: int, part: Any = "value") -> bytes:
    path, size, media, name = raw_part(VIEWER, Cluster.objects.get(pk="local"), topic.name, (0, offset), part)
    assert (media, name) == ("application/octet-stream", f"{topic.name}-0-{offset}-{part}.bin")
    assert path.stat().st_mode & 0o777 == 0o600 and path.stat().st_size == size
    return path.read_bytes()


def kept(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "exports").glob("*"))


def test_they_are_as_they_were_written(topic: Topic) -> None:
    topic.write({"value": "before"}, {"value": BYTES, "key": b"\x00\xff"}, {"value": b"", "key": b""})
    assert had(topic, 1) == BYTES
    assert had(topic, 1, "key") == b"\x00\xff"
    assert had(topic, 2) == had(topic, 2, "key") == b""
    rows = AuditEntry.objects.filter(action="download a record's key", outcome="done").order_by("id")
    assert [row.after for row in rows] == [{"partition": 0, "offset": 1}, {"partition": 0, "offset": 2}]


def test_what_is_not_there_is_said(topic: Topic, tmp_path: Path) -> None:
    topic.write({"value": None, "key": "gone"}, {"value": "no key"})
    for offset, part, words in ((0, "value", "tombstone"), (1, "key", "no key"), (7, "value", "no record at offset 7")):
        with pytest.raises(NotFound, match=words):
            had(topic, offset, part)
    assert kept(tmp_path) == []


@pytest.mark.parametrize(
    ("rule", "part"),
    [
        (Rule("value"), "value"),
        (Rule("key"), "key"),
        (Rule("field", "$.card"), "value"),
        (Rule("pattern", "[0-9]{4}-[0-9]{4}"), "value"),
        (Rule("pattern", "[0-9]{4}-[0-9]{4}"), "key"),
    ],
)
def test_what_is_hidden_in_part_is_refused(topic: Topic, rules: list[Rule], rule: Rule, part: str, tmp_path: Path) -> None:
    rules.append(rule)
    topic.write({"value": '{"card": "4111-1111"}', "key": "4111-1111"})
    with pytest.raises(Refused, match=f"hides some of this {part} from the role viewer"):
        had(topic, 0, part)
    assert kept(tmp_path) == []
    assert AuditEntry.objects.get(action=f"download a record's {part}").outcome == "failed"


def test_where_a_rule_hides_nothing_the_bytes_are_given(topic: Topic, rules: list[Rule]) -> None:
    rules += [Rule("key"), Rule("pattern", "[0-9]{4}-[0-9]{4}")]
    topic.write({"value": "nothing secret", "key": "k"})
    assert had(topic, 0) == b"nothing secret"
