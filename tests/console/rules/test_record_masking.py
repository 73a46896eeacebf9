"""What a rule does to bytes, whatever they are written like."""

from __future__ import annotations

import struct

import msgspec
import pytest

from console.rules.records.masking import Rule, Veil, WrongRule, check_rule, covers


@pytest.mark.parametrize(
    ("rule", "value", "shown"),
    [
        (Rule("pattern", "[0-9]+/[0-9]+"), rb'{"at": "12\/30"}', '{"at":"•••"}'),
        (Rule("pattern", "4111"), rb'{"at": "\u00341\u00311"}', '{"at":"•••"}'),
        (Rule("pattern", "4111"), rb'{"at": "\u00341\u00311"', "•••"),
        (Rule("pattern", "4111"), rb"C:\temp\4111", "C:\\temp\\•••"),
        (Rule("field", "$.a"), b'{"a": {"b": 1}, "c": 2}', '{"a":"•••","c":2}'),
        (Rule("field", "$.a.b"), b'{"a": {"b": 1}, "c": 2}', '{"a":{"b":"•••"},"c":2}'),
        (Rule("field", "$[*].x"), b'[{"x": 1}, {"x": 2, "y": 3}]', '[{"x":"•••"},{"x":"•••","y":3}]'),
        (Rule("field", "$.a"), b"no json", "•••"),
        (Rule("field", "$.a"), b'{"c": 2}', '{"c":2}'),
    ],
)
def test_a_value_under_a_rule(rule: Rule, value: bytes, shown: str) -> None:
    assert Veil([rule]).cover(None, value, ())[1] == shown.encode()


CARD = 4111_1111_1111_1111
LONG, DOUBLE = struct.pack(">q", CARD), struct.pack(">d", CARD)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (LONG, b"\xe2\x80\xa2" * 3),
        (DOUBLE, b"\xe2\x80\xa2" * 3),
        (str(CARD).encode("utf-16-le"), b"\xe2\x80\xa2" * 3),
        (msgspec.msgpack.encode(CARD), msgspec.msgpack.encode("•••")),
        (msgspec.msgpack.encode({"card": CARD, "n": 7}), msgspec.msgpack.encode({"card": "•••", "n": 7})),
        (msgspec.msgpack.encode([f"card {CARD}", b"x"]), msgspec.msgpack.encode(["card •••", b"x"])),
        (msgspec.msgpack.encode({str(CARD): {CARD: 1}}), msgspec.msgpack.encode({"•••": {"•••": 1}})),
        (msgspec.msgpack.encode({"raw": str(CARD).encode()}), msgspec.msgpack.encode({"raw": "•••".encode()})),
    ],
)
def test_a_pattern_holds_for_what_can_be_read_out_of_bytes(value: bytes, shown: bytes) -> None:
    assert Veil([Rule("pattern", "[0-9]{16}")]).cover(value, value, [("card", value)]) == (shown, shown, [("card", shown)])


def test_a_pattern_over_more_than_one_part_of_a_message_hides_it() -> None:
    value = msgspec.msgpack.encode({"kind": "card", "n": 1})
    assert Veil([Rule("pattern", r'"card",\s*"n"')]).cover(None, value, ())[1] == "•••".encode()


def test_a_text_is_taken_for_a_number_only_where_it_is_read_as_one() -> None:
    rules, text = [Rule("pattern", "[0-9]{9}")], b"order-17"
    assert Veil(rules).cover(text, text, ())[:2] == (text, text)
    assert Veil(rules, key_form="long", value_form="double").cover(text, text, ())[:2] == ("•••".encode(), "•••".encode())


def test_what_a_pattern_does_not_find_stays_as_it_is() -> None:
    for value in (struct.pack(">q", 7), msgspec.msgpack.encode({"a": [1, 2.5, None, True, b"\xff"]}), b"\xff\x00\x01", b"", b"7"):
        assert Veil([Rule("pattern", "[0-9]{16}")]).cover(value, value, ())[:2] == (value, value)


def test_rules_are_for_topics_by_name() -> None:
    assert covers("pay*", "payments") and covers("*", "x") and covers("a?", "ab")
    assert not covers("pay*", "Payments") and not covers("a?", "a") and not covers("orders", "orders-2")


@pytest.mark.parametrize("rule", [Rule("field"), Rule("field", "$["), Rule("pattern", "("), Rule("pattern", "a?"), Rule("value", "x")])
def test_a_rule_that_cannot_be_is_refused(rule: Rule) -> None:
    with pytest.raises(WrongRule) as refused:
        check_rule(rule)
    assert refused.value.field == "expression"
