"""What rules hide is hidden before it is kept: in every format, from every filter, and where a rule cannot be applied."""

from __future__ import annotations

import json
import struct
from typing import Any

import msgspec
import pytest

from console.rules.records.decoding import CHOICES
from console.rules.records.masking import Rule
from console.snapshot.connect import sync_client
from tests.reader.conftest import Topic

SECRET = "4111-1111"
CARD, PATTERN = Rule("field", "$..card"), Rule("pattern", r"\d{4}-\d{4}")
PAID = json.dumps({"order": 7, "payment": {"card": SECRET}})


def kept(topic: Topic) -> str:
    """All that Redis has of searches."""
    client: Any = sync_client()
    lists = [client.lrange(name, 0, -1) for name in client.keys("hw-records:*:found")]
    return json.dumps(lists)


@pytest.mark.parametrize(
    "rules",
    [(CARD,), (PATTERN,), (Rule("value"),), (Rule("field", "$"),), (CARD, Rule("field", "$..card.x"), Rule("field", "$.*"))],
)
@pytest.mark.parametrize("form", ["auto", "string", "json", "hex", "msgpack"])
def test_a_secret_in_a_value_is_never_kept(topic: Topic, rules: tuple[Rule, ...], form: str) -> None:
    topic.write({"value": PAID}, {"value": PAID[:-1]}, {"value": '{"card": "\\u0034111-1111"}'}, {"value": f'[[{{"card": "{SECRET}"}}]]'})
    _, found = topic.search(rules, start="oldest", value=form)
    assert len(found) == 4
    assert all(one.value and one.value.masked and one.value.size is None for one in found)
    shown = kept(topic)
    assert SECRET not in shown and "-1111" not in shown and SECRET.encode().hex(" ") not in shown
    if rules == (CARD,) and form == "json":
        assert found[0].value is not None and '"order": 7' in found[0].value.text, "the rest is shown"


@pytest.mark.parametrize("form", list(CHOICES))
def test_a_number_is_never_kept_in_any_format(topic: Topic, form: str) -> None:
    card = 4111_1111_1111_1111
    values = [struct.pack(">q", card), struct.pack(">d", card), msgspec.msgpack.encode({"card": card}), struct.pack(">i", 411_111_111)]
    topic.write(*({"value": value, "key": value, "headers": [("card", value)]} for value in values))
    _, found = topic.search((Rule("pattern", "[0-9]{9}"),), start="oldest", key=form, value=form)
    assert len(found) == len(values)
    for one in found:
        assert all(part is not None and part.masked for part in (one.key, one.value, one.headers[0].value))
    shown = kept(topic)
    assert "41111111" not in shown and not any(value.hex(" ") in shown for value in values)


@pytest.mark.parametrize(
    "query",
    [
        {"text": SECRET},
        {"text": "4111"},
        {"text": "^.*4111.*$", "regex": "1"},
        {"text": SECRET, "where": "key"},
        {"path": "$.payment.card", "equals": SECRET},
        {"path": "$.payment[?@ == '4111-1111']"},
        {"header": f"card={SECRET}"},
    ],
)
@pytest.mark.parametrize("start", ["oldest", "newest"])
def test_what_is_hidden_cannot_be_searched_for(topic: Topic, query: dict[str, str], start: str) -> None:
    topic.write({"value": PAID, "key": SECRET, "headers": [("card", SECRET.encode())]})
    rules = (CARD, Rule("key"), Rule("header", "c*"))
    assert len(topic.search(start=start, **query)[1]) == 1, "it is there for whom nothing is hidden"
    progress, found = topic.search(rules, start=start, **query)
    assert (progress.state, found) == ("done", [])
    _, (one,) = topic.search(rules, start=start)
    assert one.key is not None and one.key.masked and one.key.size is None
    assert one.headers[0].value is not None and one.headers[0].value.text == "•••"
    assert one.value is not None and SECRET not in one.value.text


def test_what_a_rule_cannot_be_applied_to_is_hidden_whole(topic: Topic) -> None:
    deep = b'{"card":' * 300 + b'"4111-1111"' + b"}" * 300
    topic.write(*({"value": value} for value in (b"card=4111-1111", deep, b"\xff\x004111-1111", b"{" + b"x" * 100)), {"value": None})
    _, found = topic.search((CARD,), start="oldest")
    assert [one.value and one.value.text for one in found] == ["•••", "•••", "•••", "•••", None]
