"""The Kafka source's jars: pinned, and their absence or change is a clear message."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from broker_core.local import maven
from tests.support.ports import free_ports
from workers.spark import jars


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder where the jars should be; nobody answers for Maven Central."""
    monkeypatch.setenv(maven.URL_VARIABLE, f"http://127.0.0.1:{free_ports()}/")
    monkeypatch.setattr(maven, "shared_folder", lambda name: tmp_path)
    return tmp_path


def test_they_are_here_and_are_the_pinned_ones() -> None:
    assert len(jars.paths()) == len(jars.ARTIFACTS)


def test_a_missing_one_says_what_to_run(empty: Path) -> None:
    with pytest.raises(maven.JarsMissing, match=r"workers\.spark\.jars"):
        jars.paths()


def test_a_changed_one_is_not_used(empty: Path) -> None:
    for coordinate in jars.ARTIFACTS:
        (empty / maven.file_name(coordinate)).write_bytes(b"not a jar")
    with pytest.raises(maven.JarsMissing, match="checksum"):
        jars.paths()


def test_when_nothing_answers_the_message_says_so(monkeypatch: pytest.MonkeyPatch, empty: Path) -> None:
    monkeypatch.setattr(maven, "_run", lambda command, environment: None)
    said: list[str] = []
    assert jars.main(said.append) == 1
    assert "missing" in said[-1]
    assert "refused" in said[-1]


def test_only_what_has_the_pinned_checksum_is_taken_from_a_resolver(monkeypatch: pytest.MonkeyPatch, empty: Path) -> None:
    right = {coordinate: b"jar of " + coordinate.encode() for coordinate in jars.ARTIFACTS}
    monkeypatch.setattr(jars, "ARTIFACTS", {coordinate: hashlib.sha256(data).hexdigest() for coordinate, data in right.items()})
    wrong = next(iter(right))
    monkeypatch.setattr(maven, "_by_maven", lambda coordinates, scratch: _leave(scratch, {**right, wrong: b"other bytes"}))
    monkeypatch.setattr(maven, "_by_spark", lambda coordinates, scratch: _leave(scratch, {}))
    said: list[str] = []
    assert jars.main(said.append) == 1
    assert maven.file_name(wrong) in said[-1]
    assert len(list(empty.glob("*.jar"))) == len(right) - 1


def _leave(scratch: Path, contents: dict[str, bytes]) -> None:
    for coordinate, data in contents.items():
        (scratch / maven.file_name(coordinate)).write_bytes(data)
