"""The Kafka source's jars: pinned, and their absence or change is a clear message."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.spark import jars


def test_they_are_here_and_are_the_pinned_ones() -> None:
    assert len(jars.paths()) == len(jars.ARTIFACTS)


def test_a_missing_one_says_what_to_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(jars, "folder", lambda: tmp_path)
    with pytest.raises(jars.JarsMissing, match=r"workers\.spark\.jars"):
        jars.paths()


def test_a_changed_one_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for coordinate in jars.ARTIFACTS:
        (tmp_path / jars.file_name(coordinate)).write_bytes(b"not a jar")
    monkeypatch.setattr(jars, "folder", lambda: tmp_path)
    with pytest.raises(jars.JarsMissing, match="checksum"):
        jars.paths()


def test_when_nothing_answers_the_message_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(jars, "folder", lambda: tmp_path)
    monkeypatch.setattr(jars, "_run", lambda command, environment: None)
    said: list[str] = []
    assert jars.main(said.append) == 1
    assert "missing" in said[-1]
