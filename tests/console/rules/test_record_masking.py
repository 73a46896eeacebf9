"""What a rule does to bytes, whatever they are written like."""

from __future__ import annotations

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


def test_rules_are_for_topics_by_name() -> None:
    assert covers("pay*", "payments") and covers("*", "x") and covers("a?", "ab")
    assert not covers("pay*", "Payments") and not covers("a?", "a") and not covers("orders", "orders-2")


@pytest.mark.parametrize("rule", [Rule("field"), Rule("field", "$["), Rule("pattern", "("), Rule("pattern", "a?"), Rule("value", "x")])
def test_a_rule_that_cannot_be_is_refused(rule: Rule) -> None:
    with pytest.raises(WrongRule) as refused:
        check_rule(rule)
    assert refused.value.field == "expression"
