"""The data folder: ours or refused, ports moved by the environment, secrets kept."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from broker_core.config import BrokerConfig
from broker_core.errors import ConfigError
from broker_core.local import control
from broker_core.local.brokers import properties
from broker_core.local.layout import DEFAULT_PORTS, Layout
from broker_core.local.services import check_port_free


def layout(root: Path, **ports: str) -> Layout:
    return Layout.from_environment(root, {f"HIGHWATER_{name}_PORT": value for name, value in ports.items()})


def test_ports_have_defaults_and_can_be_moved(tmp_path: Path) -> None:
    assert layout(tmp_path).bootstrap_servers == "127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094"
    assert layout(tmp_path, BROKER="19092").port_of(3) == 19094


def test_a_folder_knows_the_ports_it_was_started_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes to it without the variables finds what runs there; the variables win, and only a start leaves them."""
    for name in DEFAULT_PORTS:
        monkeypatch.delenv(f"HIGHWATER_{name}_PORT", raising=False)
    moved = layout(tmp_path, BROKER="19092", CONSOLE="18000")
    assert layout(tmp_path).broker_port == 9092
    moved.prepare()
    assert layout(tmp_path) == moved
    assert [broker["port"] for broker in control.status(tmp_path)["brokers"]] == [19092, 19093, 19094]
    assert layout(tmp_path, BROKER="29092").port_of(2) == 29093
    assert layout(tmp_path, BROKER="29092").console_port == 18000
    assert layout(tmp_path) == moved


@pytest.mark.parametrize("text", ["", "[]", '{"BROKER": "9092"}', '{"BROKER": 0}', '{"BROKER": true}', '{"OTHER": 9092}'])
def test_a_file_that_holds_no_ports_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "ports.json").write_text(text)
    with pytest.raises(ConfigError, match=r"ports\.json"):
        layout(tmp_path)


@pytest.mark.parametrize("text", ["0", "65536", "http", "-1"])
def test_a_wrong_port_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="HIGHWATER_REDIS_PORT"):
        layout(tmp_path, REDIS=text)


def test_two_parts_on_one_port_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="9093"):
        layout(tmp_path, CONSOLE="9093")


def test_a_taken_port_is_a_clear_message() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ConfigError, match="HIGHWATER_CONSOLE_PORT"):
            check_port_free(taken.getsockname()[1], "the console", "HIGHWATER_CONSOLE_PORT")


def test_a_port_that_is_let_go_in_a_moment_is_free() -> None:
    """A killed process's lock may be free before its sockets are."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    port, timer = taken.getsockname()[1], threading.Timer(0.2, taken.close)
    timer.start()
    check_port_free(port, "the console", "HIGHWATER_CONSOLE_PORT")
    assert taken.fileno() == -1
    timer.join()


def test_a_new_folder_becomes_ours_and_stays_it(tmp_path: Path) -> None:
    layout(tmp_path / "new").prepare()
    layout(tmp_path / "new").prepare()


@pytest.mark.parametrize("there", [False, True])
def test_a_look_at_a_new_folder_leaves_it_one_that_can_be_used(tmp_path: Path, there: bool) -> None:
    """`highwater cluster status` before the first `make up`."""
    root = tmp_path / "new"
    if there:
        root.mkdir()
    assert {broker["state"] for broker in control.status(root)["brokers"]} == {"stopped"}
    layout(root).prepare()


def test_a_folder_of_something_else_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(ConfigError, match="not a Highwater data folder"):
        layout(tmp_path).prepare()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("text", ['{"format": 99}', "{", "[]", '{"format": null}'])
def test_another_format_or_a_broken_marker_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "highwater.json").write_text(text)
    with pytest.raises(ConfigError, match=r"highwater\.json"):
        layout(tmp_path).prepare()


def test_a_secret_is_generated_once_and_private(tmp_path: Path) -> None:
    found = layout(tmp_path)
    assert found.secret("redis") == found.secret("redis")
    assert len(found.secret("redis")) >= 32
    assert (tmp_path / "secrets" / "redis").stat().st_mode & 0o077 == 0


def test_the_folders_are_private(tmp_path: Path) -> None:
    found = layout(tmp_path / "data")
    found.prepare()
    assert [path.stat().st_mode & 0o077 for path in (found.root, found.folder("run"), found.folder("secrets"))] == [0, 0, 0]


def test_the_local_brokers_settings_are_ones_a_broker_takes(tmp_path: Path) -> None:
    config = BrokerConfig.load(properties(layout(tmp_path), 2))
    assert (config.broker_id, config.min_insync_replicas, config.default_replication_factor) == (2, 2, 3)


def test_an_unknown_broker_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no broker 9"):
        layout(tmp_path).broker_folder(9)
