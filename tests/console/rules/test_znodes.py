"""What of a znode is shown: text, JSON, bytes; and nothing that is secret."""

from __future__ import annotations

import json

import pytest

from console.errors import Invalid
from console.rules.znodes import BYTES_SHOWN, HIDDEN, TEXT_MAX, check_path, in_order, shown

pytestmark = pytest.mark.spec("S1")
SCRAM = json.dumps({"version": 1, "config": {"SCRAM-SHA-256": "salt=xyz,stored_key=abc", "producer_byte_rate": "1000"}}).encode()


@pytest.mark.parametrize("path", ["/", "/a", "/brokers/topics/orders/partitions/0/state", "/consumers/größe"])
def test_paths(path: str) -> None:
    assert check_path(path) == path


@pytest.mark.parametrize("path", ["", "a", "//", "/a/", "/a//b", "/a/../b", "/./a", "/a\0", "/a\u202e", "/" + "x" * 1_000])
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(Invalid):
        check_path(path)


def test_credentials_are_hidden_and_quotas_are_not() -> None:
    found = shown("/config/users/alice", SCRAM)
    assert "stored_key" not in found.text
    assert json.loads(found.text)["config"] == {"SCRAM-SHA-256": HIDDEN, "producer_byte_rate": "1000"}
    assert "hidden" in found.note


@pytest.mark.parametrize("path", ["/delegation_token/tokens/1", "/delegation_token", "/config/users/alice/clients/c", "/config/brokers/1"])
def test_what_could_be_secret_and_cannot_be_read_is_hidden(path: str) -> None:
    for data in (b"\xff\xfe", b"salt=xyz", SCRAM[:-3], b"[" * 100_000, b'"' + b"x" * TEXT_MAX + b'"'):
        assert shown(path, data).text == HIDDEN


def test_passwords_of_brokers_are_hidden() -> None:
    data = {"config": {"listener.name.x.ssl.keystore.key": "abc", "ssl.truststore.password": "abc", "num.io.threads": "8"}}
    assert "abc" not in shown("/config/brokers/1", json.dumps(data).encode()).text


def test_everything_else_is_shown() -> None:
    assert shown("/controller_epoch", b"14").text == "14"
    assert shown("/brokers/ids/1", b'{"host":"h\\u00fc"}').text == '{\n  "host": "hü"\n}'
    assert shown("/x", b"plain text\n").text == "plain text\n"
    assert shown("/x", b"").note
    assert shown("/x", b"\xff\x00").text == "ff 00"
    assert shown("/x", b"\x1b[2J").text == "1b 5b 32 4a"
    deep = shown("/x", b"[" * 30_000)
    assert deep.text.startswith("[[[")


def test_much_is_cut_and_said_to_be() -> None:
    text, raw = shown("/x", b"a" * (TEXT_MAX + 1)), shown("/x", b"\xff" * (TEXT_MAX + 1))
    assert (len(text.text), "65536 of 65537" in text.note) == (TEXT_MAX, True)
    assert (len(raw.text.split()), "512 of 65537" in raw.note) == (BYTES_SHOWN, True)


def test_numbers_are_in_their_order() -> None:
    assert sorted(["10", "2", "b-10", "b-9", "a", "x²"], key=in_order) == ["2", "10", "a", "b-9", "b-10", "x²"]
