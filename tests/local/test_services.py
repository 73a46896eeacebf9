"""ZooKeeper and Redis of a local cluster: only loopback, private, and clear words when something is missing."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from broker_core.errors import ConfigError
from broker_core.local import maven, services, zookeeper_jars
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


def test_zookeepers_jars_are_given_or_pinned_or_pysparks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HIGHWATER_ZOOKEEPER_CLASSPATH", "/opt/zookeeper/lib/*")
    assert services.zookeeper_classpath() == "/opt/zookeeper/lib/*"
    monkeypatch.delenv("HIGHWATER_ZOOKEEPER_CLASSPATH")
    monkeypatch.setattr(maven, "shared_folder", lambda name: tmp_path / name)
    jars = services.zookeeper_classpath().split(":")
    assert [jar for jar in jars if "/pyspark/jars/zookeeper-3" in jar], "offline, without the pinned ones"
    assert not [jar for jar in jars if Path(jar).name.startswith("spark")]
    own = {f"org.apache.zookeeper:zookeeper:{n}": hashlib.sha256(b"%d" % n).hexdigest() for n in range(2)}
    monkeypatch.setattr(zookeeper_jars, "ARTIFACTS", own)
    zookeeper_jars.pinned().folder.mkdir()
    for n in range(2):
        assert "pyspark" in services.zookeeper_classpath(), "not before all of them are there"
        (zookeeper_jars.pinned().folder / f"zookeeper-{n}.jar").write_bytes(b"%d" % n)
    assert services.zookeeper_classpath() == ":".join(str(path) for path in zookeeper_jars.pinned().paths())


def test_zookeepers_jars_that_are_nowhere_are_asked_for_in_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HIGHWATER_ZOOKEEPER_CLASSPATH", raising=False)
    monkeypatch.setattr(maven, "shared_folder", lambda name: tmp_path / name)
    monkeypatch.setattr(services, "package_folder", lambda name: tmp_path)
    with pytest.raises(ConfigError, match=r"broker_core\.local\.zookeeper_jars.*HIGHWATER_ZOOKEEPER_CLASSPATH"):
        services.zookeeper_classpath()


def test_the_pinned_jars_of_zookeeper_are_the_bytes_that_pyspark_carries() -> None:
    for coordinate, digest in zookeeper_jars.ARTIFACTS.items():
        jar = services.package_folder("pyspark") / "jars" / maven.file_name(coordinate)
        assert hashlib.sha256(jar.read_bytes()).hexdigest() == digest, "a new PySpark wants new pins"


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
