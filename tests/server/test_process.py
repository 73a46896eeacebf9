"""The process's duties: folder lock, ready file, log lines."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import pytest

from broker_core.errors import ConfigError
from broker_core.server import process
from broker_core.server.main import load_config, main


def test_a_folder_has_one_process(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    with process.data_folder_lock(folder):
        assert (folder / process.LOCK_FILE).read_text() == f"{os.getpid()}\n"
        with pytest.raises(ConfigError, match=f"pid {os.getpid()}"), process.data_folder_lock(folder):
            pass
    with process.data_folder_lock(folder):
        pass


def test_the_ready_file_appears_whole_and_goes(tmp_path: Path) -> None:
    process.write_ready(tmp_path, port=1, broker_epoch=2, metrics_port=0)
    state = json.loads((tmp_path / process.READY_FILE).read_text())
    assert state == {"pid": os.getpid(), "port": 1, "broker_epoch": 2, "metrics_port": 0}
    process.clear_ready(tmp_path)
    process.clear_ready(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_connections_leave_the_logs_their_file_handles() -> None:
    assert process.connections_limit(65_536) == 65_536 - process.FILES_FOR_LOGS
    assert process.connections_limit(1_024) == 512


def test_a_data_folder_that_takes_nothing_is_said_plainly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "set_up_logging", lambda file, level: None)
    (tmp_path / "file").write_text("")
    config = tmp_path / "server.properties"
    config.write_text(f"log.dirs={tmp_path}/file/log\n")
    assert main(["--config", str(config), "--log-file", str(tmp_path / "broker.log")]) == 1
    assert "the data folder or log file cannot be used" in capsys.readouterr().err


def test_a_log_line_has_the_event_and_its_values() -> None:
    record = logging.makeLogRecord({"name": "x", "levelname": "INFO", "msg": "topic created", "topic": "a b", "count": 3, "created": 0.5})
    assert process.LineFormatter().format(record).endswith('Z INFO x: topic created topic="a b" count=3')


def test_a_log_line_stays_a_line_and_moves_no_terminals_cursor() -> None:
    """Values may be what a client calls itself."""
    record = logging.makeLogRecord({"name": "x", "levelname": "INFO", "msg": "seen", "client": "a\x1b[2J\x9b1A\nb", "city": "größer"})
    assert process.LineFormatter().format(record).endswith(r'Z INFO x: seen client="a\u001b[2J\u009b1A\nb" city=größer')


def test_a_log_line_has_the_beginning_of_a_long_value() -> None:
    """A topic's name, or the reason of a member that joins, may be as long as a request."""
    record = logging.makeLogRecord({"name": "x", "levelname": "INFO", "msg": "seen", "reason": "y" * 1_000_000, "count": 3})
    line = process.LineFormatter().format(record)
    assert line.endswith("y… count=3")
    assert len(line) < 3_000


def test_settings_come_from_file_and_arguments(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("broker.id=3\nnum.partitions=2\n")
    config = load_config(file, ["num.partitions=5"])
    assert (config.broker_id, config.num_partitions) == (3, 5)
    by_variable = load_config(file, ["num.partitions=5"], {"KAFKA_NUM_PARTITIONS": "4", "KAFKA_BROKER_RACK": "b", "HOME": "/"})
    assert (by_variable.broker_id, by_variable.num_partitions, by_variable.broker_rack) == (3, 5, "b")
    assert load_config(None, [], {"KAFKA_BROKER_ID": "7"}).broker_id == 7
    file.write_text("broker.idd=3\n")
    with pytest.raises(ConfigError, match=r"broker\.idd"):
        load_config(file, [])
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "missing", [])
