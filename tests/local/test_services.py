"""ZooKeeper and Redis of a local cluster: only loopback, private, and clear words when something is missing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from broker_core.errors import ConfigError
from broker_core.local import services
from broker_core.local.layout import Layout
from broker_core.local.process import LocalProcess, ProcessError, allowed_environment, wait_until

PORTS = {"HIGHWATER_ZOOKEEPER_PORT": "31191", "HIGHWATER_REDIS_PORT": "31192"}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout.from_environment(tmp_path, PORTS)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """Commands that would have been run."""
    commands: list[Sequence[str]] = []
    monkeypatch.setattr(LocalProcess, "start", lambda process, command, *_: commands.append(command))
    monkeypatch.setattr(services, "wait_ready", lambda *_: None)
    return commands


def test_redis_listens_on_loopback_and_asks_for_the_password(layout: Layout, started: list[Sequence[str]]) -> None:
    services.start_redis(layout)
    config = layout.root / "redis" / "redis.conf"
    lines = config.read_text().splitlines()
    assert started[0][1] == str(config)
    assert {"bind 127.0.0.1", "port 31192", "protected-mode yes", f"requirepass {layout.secret('redis')}"} <= set(lines)
    assert config.stat().st_mode & 0o077 == 0
    assert layout.redis_url == f"redis://:{layout.secret('redis')}@127.0.0.1:31192/0"


def test_zookeeper_listens_on_loopback_only(layout: Layout, started: list[Sequence[str]]) -> None:
    services.start_zookeeper(layout)
    config = layout.root / "zookeeper" / "zoo.cfg"
    lines = dict(line.split("=", 1) for line in config.read_text().splitlines())
    assert started[0][-1] == str(config)
    assert (lines["clientPort"], lines["clientPortAddress"], lines["admin.enableServer"]) == ("31191", "127.0.0.1", "false")
    assert int(lines["minSessionTimeout"]) <= 6_000 <= int(lines["maxSessionTimeout"]), "the local brokers' session timeout"


def test_zookeepers_jars_are_pysparks_or_given_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HIGHWATER_ZOOKEEPER_CLASSPATH", raising=False)
    jars = [Path(jar).name for jar in services.zookeeper_classpath().split(":")]
    assert any(jar.startswith("zookeeper-3") for jar in jars)
    assert not [jar for jar in jars if jar.startswith("spark")]
    monkeypatch.setattr(services, "package_folder", lambda name: tmp_path)
    with pytest.raises(ConfigError, match="HIGHWATER_ZOOKEEPER_CLASSPATH"):
        services.zookeeper_classpath()
    monkeypatch.setenv("HIGHWATER_ZOOKEEPER_CLASSPATH", "/opt/zookeeper/lib/*")
    assert services.zookeeper_classpath() == "/opt/zookeeper/lib/*"


def test_java_is_that_of_java_home_or_the_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "bin" / "java"
    own.parent.mkdir()
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    assert services.java_binary() == str(own), "a JAVA_HOME without Java is no reason to give up"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    assert services.java_binary() == str(own)
    monkeypatch.delenv("JAVA_HOME")
    with pytest.raises(ConfigError, match="openjdk"):
        services.java_binary()


@pytest.mark.parametrize(
    ("program", "seconds", "words"),
    [
        ("print('no memory')", 60.0, "ended while it started"),
        ("import time; print('no memory', flush=True); time.sleep(600)", 0.1, "did not answer within 0 s"),
    ],
)
def test_a_service_that_does_not_come_shows_its_last_words(layout: Layout, program: str, seconds: float, words: str) -> None:
    process, log = LocalProcess("service", layout.folder("run")), layout.log_file("service")
    log.write_text("x" * 5000)
    process.start([sys.executable, "-c", program], log, allowed_environment(), layout.root)
    try:
        assert wait_until(lambda: "no memory" in log.read_text(), 60)
        with pytest.raises(ProcessError, match=words) as told:
            services.wait_ready(process, lambda: False, seconds, log)
        assert "no memory" in str(told.value)
        assert len(str(told.value)) < 3000
    finally:
        process.kill()


def test_a_log_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    assert "No such file" in services.tail(tmp_path / "nothing")
