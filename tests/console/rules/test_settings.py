"""Units, groups and differences of settings."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.config import BROKER_KEYS, TOPIC_KEYS
from console.rules.settings.changes import moved_meanwhile, risks_of, rows_of, typed_changes
from console.rules.settings.groups import OTHERS, group_of
from console.rules.settings.model import Owner, Setting, etag, without_secrets
from console.rules.settings.units import LONG_MAX, WrongUnit, in_words, read, told

pytestmark = pytest.mark.spec("O1")
TOPIC = Owner("topic", "orders")


def setting(name: str, value: str | None, *, own: bool = False, kind: str = "long", **more: Any) -> Setting:
    known = {"otherwise": value, "otherwise_for": "", "default": None, "read_only": False, "sensitive": False, "doc": "", "choices": []}
    fields: dict[str, Any] = {**known, **more}
    return Setting(
        name=name,
        value=value,
        set_for="topic" if own else "",
        own=value if own else None,
        type=kind,
        group=group_of(name).name,
        told=in_words(name, kind, value),
        **fields,
    )


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("retention.ms", "7 d", "604800000"),
        ("retention.ms", "7days", "604800000"),
        ("retention.ms", "1.5 h", "5400000"),
        ("retention.ms", "1 w", "604800000"),
        ("retention.ms", "604 800 000", "604800000"),
        ("retention.ms", "no limit", "-1"),
        ("flush.ms", "no limit", str(LONG_MAX)),
        ("retention.ms", "-1", "-1"),
        ("segment.bytes", "1 GiB", "1073741824"),
        ("segment.bytes", "1 GB", "1000000000"),
        ("leader.replication.throttled.rate", "10 MiB/s", "10485760"),
        ("log.retention.hours", "7 d", "168"),
        ("min.insync.replicas", "two", "two"),
        ("retention.ms", "soon", "soon"),
    ],
)
def test_units_are_read(name: str, text: str, value: str) -> None:
    assert read(name, "long", text) == value


@pytest.mark.parametrize(("name", "text"), [("retention.ms", "7 GiB"), ("segment.bytes", "7 d"), ("retention.ms", "0.5 ms")])
def test_a_unit_of_something_else_is_told(name: str, text: str) -> None:
    with pytest.raises(WrongUnit):
        read(name, "long", text)


@pytest.mark.parametrize("name", [*TOPIC_KEYS, *BROKER_KEYS])
def test_what_is_told_exactly_is_read_as_the_same(name: str) -> None:
    key = {**TOPIC_KEYS, **BROKER_KEYS}[name]
    value, kind = key.show(key.default), key.type.name.lower()
    if exact := told(name, kind, value).exact:
        assert read(name, kind, exact) == value


def test_most_settings_have_their_group() -> None:
    assert {name for name in TOPIC_KEYS if group_of(name) is OTHERS} == set()
    assert group_of("retention.ms").name == group_of("log.retention.ms").name == "retention"
    assert group_of("controlled.shutdown.enable").name != "sizes"


def test_only_what_was_typed_otherwise_changes() -> None:
    shown = [setting("retention.ms", "604800000"), setting("segment.ms", "5", own=True), setting("preallocate", "false", kind="boolean")]
    was = {"retention.ms": "604800000", "segment.ms": "5", "preallocate": "false"}
    typed = {"retention.ms": "7 d", "segment.ms": "", "preallocate": "True"}
    assert typed_changes(shown, typed, was, ()) == ({"segment.ms": None, "preallocate": "True"}, {})
    meanwhile = [setting("retention.ms", "1"), *shown[1:]]
    assert typed_changes(meanwhile, {"retention.ms": "7 d"}, was, ())[0] == {}, "left as it was shown: no wish to turn back others' change"
    assert "is 1 ms now" not in moved_meanwhile(meanwhile, was)[0] and "was 604" in moved_meanwhile(meanwhile, was)[0]
    assert typed_changes(shown, {"retention.ms": ""}, was, ())[1].keys() == {"retention.ms"}, "nothing is set that could be taken away"
    assert typed_changes(shown, {"retention.ms": "7 GiB"}, was, ())[1].keys() == {"retention.ms"}
    assert typed_changes(shown, {"segment.ms": "6"}, was, ("segment.ms",))[0] == {"segment.ms": None}


def test_a_reset_tells_what_is_in_force_then() -> None:
    row = rows_of([setting("segment.ms", "5", own=True, otherwise="3600000")], {"segment.ms": None})[0]
    assert (row.before, row.after, row.reset) == ("5", None, True)
    assert row.told_after.endswith("= 1\u202fh")


def test_a_secret_stays_one() -> None:
    row = rows_of([setting("ssl.key.password", None, kind="password", sensitive=True)], {"ssl.key.password": "abc"})[0]
    assert "abc" not in (row.after, row.told_after, row.before, row.told_before)


def test_secrets_are_not_audited() -> None:
    asked = {"ssl.keystore.password": "a", "ssl.odd": "b", "retention.ms": "1", "sasl.jaas.config": None}
    known = [setting("ssl.odd", None, kind="string", sensitive=True)]
    assert without_secrets(asked, known) == {**asked, "ssl.keystore.password": "hidden", "ssl.odd": "hidden"}


@pytest.mark.parametrize(
    ("now", "then", "loses"),
    [("604800000", "3600000", True), ("3600000", "604800000", False), ("-1", "604800000", True), ("604800000", "-1", False)],
)
def test_less_retention_can_lose_records(now: str, then: str, loses: bool) -> None:
    risks, found = risks_of(TOPIC, [setting("retention.ms", now, own=True)], {"retention.ms": then}, None)
    assert (bool(risks), found) == (loses, loses)
    of_all = risks_of(Owner("brokers"), [setting("log.retention.ms", now, own=True)], {"log.retention.ms": then}, None)
    assert of_all[1] == loses


def test_a_reset_loses_where_the_default_keeps_less() -> None:
    here = setting("retention.ms", "604800000", own=True, otherwise="3600000")
    assert risks_of(TOPIC, [here], {"retention.ms": None}, None)[1]
    longer = setting("retention.ms", "604800000", own=True, otherwise="-1")
    assert not risks_of(TOPIC, [longer], {"retention.ms": None}, None)[1]


def test_the_tag_is_of_what_is_set_here() -> None:
    one, other = setting("retention.ms", "5", own=True), setting("segment.ms", "6")
    assert etag([one, other]) == etag([one]) != etag([setting("retention.ms", "6", own=True)])


def test_a_value_in_its_own_unit_is_said_once() -> None:
    assert in_words("analytics.minutes", "long", "15").replace("\u202f", " ") == "15 min"
    assert in_words("history.hours", "long", "24").replace("\u202f", " ") == "24 h = 1 d"
