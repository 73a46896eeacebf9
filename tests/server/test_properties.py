"""Java-like property files, read strictly."""

from __future__ import annotations

import pytest

from broker_core.errors import ConfigError
from broker_core.server.properties import parse_overrides, parse_properties

TEXT = r"""
# a comment
! another
broker.id = 1
listeners=PLAINTEXT://127.0.0.1:9092
log.dirs:/data/a\
    /b
message   spaced
path=C\:\\temp\tx
name=gr\u00fcn
empty=
"""


def test_reads_what_java_would() -> None:
    assert parse_properties(TEXT, "f") == {
        "broker.id": "1",
        "listeners": "PLAINTEXT://127.0.0.1:9092",
        "log.dirs": "/data/a/b",
        "message": "spaced",
        "path": "C:\\temp\tx",
        "name": "grün",
        "empty": "",
    }


@pytest.mark.parametrize(("text", "what"), [("lonely", "line 1"), ("\n=value", "line 2"), ("a=1\na=2", "line 2: a is set twice")])
def test_says_what_is_wrong_and_where(text: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        parse_properties(text, "server.properties")


def test_overrides() -> None:
    assert parse_overrides(["a=1", "b = x=y", "a=2"]) == {"a": "2", "b": "x=y"}
    for wrong in ("a", "=1"):
        with pytest.raises(ConfigError):
            parse_overrides([wrong])
