"""The data folder of a local cluster: where everything lies and which ports it uses.

::

    DATA/
      highwater.json      format version, cluster's own name
      ports.json          the ports it was last started with
      run/NAME.lock       held by the running process NAME (see `process.py`), NAME.pid beside it, NAME.ended after its end
      run/NAME.down       NAME was stopped on purpose (see `orders.py`)
      run/events.json     what ended by itself and was started again (see `process_events.py`)
      logs/NAME.log       what the process prints; rotated
      secrets/            generated passwords and keys, mode 0600
      zookeeper/          zoo.cfg, snapshots, transaction logs
      redis/              redis.conf
      broker-N/           server.properties, log/ (log.dirs)
      console/            SQLite, spool, Parquet, checkpoints
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from broker_core.errors import ConfigError

FORMAT_VERSION = 1
MARKER = "highwater.json"
PORTS_FILE = "ports.json"
BROKER_IDS = (1, 2, 3)
DEFAULT_PORTS = {"ZOOKEEPER": 2181, "REDIS": 6379, "BROKER": 9092, "CONSOLE": 8000, "METRICS": 9404}


class Layout(Struct, frozen=True):
    """Folder and ports of one local cluster; broker N of `BROKER_IDS` listens on `broker_port + index`, its metrics likewise."""

    root: Path
    zookeeper_port: int
    redis_port: int
    broker_port: int
    console_port: int
    metrics_port: int

    @classmethod
    def from_environment(cls, root: Path, environment: Mapping[str, str] | None = None) -> Layout:
        """The layout of `root` with ports from `HIGHWATER_…_PORT`, else as they were last time; `ConfigError` names a wrong one."""
        values = os.environ if environment is None else environment
        before = {**DEFAULT_PORTS, **_stored_ports(root.resolve() / PORTS_FILE)}
        ports = {name: _port(f"HIGHWATER_{name}_PORT", values, before[name]) for name in DEFAULT_PORTS}
        layout = cls(root.resolve(), *(ports[name] for name in DEFAULT_PORTS))
        layout.check_ports_differ()
        return layout

    def check_ports_differ(self) -> None:
        """Raises `ConfigError` when two parts would share a port."""
        seen: dict[int, str] = {}
        named = [("ZooKeeper", self.zookeeper_port), ("Redis", self.redis_port), ("the console", self.console_port)]
        for i in BROKER_IDS:
            named += [(f"broker {i}", self.port_of(i)), (f"the metrics of broker {i}", self.metrics_port_of(i))]
        for name, port in named:
            if port in seen:
                raise ConfigError(f"Port {port} is given to both {seen[port]} and {name}: move one by HIGHWATER_…_PORT")
            seen[port] = name

    def port_of(self, broker_id: int) -> int:
        return self.broker_port + BROKER_IDS.index(known_broker(broker_id))

    def metrics_port_of(self, broker_id: int) -> int:
        return self.metrics_port + BROKER_IDS.index(known_broker(broker_id))

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"127.0.0.1:{self.port_of(i)}" for i in BROKER_IDS)

    @property
    def zookeeper_connect(self) -> str:
        return f"127.0.0.1:{self.zookeeper_port}"

    @property
    def redis_url(self) -> str:
        return f"redis://:{self.secret('redis')}@127.0.0.1:{self.redis_port}/0"

    @property
    def console_url(self) -> str:
        return f"http://127.0.0.1:{self.console_port}/"

    def folder(self, *parts: str) -> Path:
        """A folder below the root, made if need be, readable by its owner only."""
        path = self.root.joinpath(*parts)
        self._take_if_empty()
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path

    def broker_folder(self, broker_id: int) -> Path:
        return self.root / f"broker-{known_broker(broker_id)}"

    def log_file(self, name: str) -> Path:
        return self.folder("logs") / f"{name}.log"

    def secret(self, name: str) -> str:
        """A generated secret that stays the same from run to run."""
        path = self.folder("secrets") / name
        try:
            return path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return _write_secret(path, secrets.token_urlsafe(32))

    def prepare(self) -> None:
        """Makes the folder ours, or refuses one that belongs to something else or to another format."""
        self._take_if_empty()
        if not (self.root / MARKER).exists():
            raise ConfigError(
                f"{self.root} is not empty and holds no {MARKER}: it is not a Highwater data folder; name another by DATA=dir"
            )
        _check_marker(self.root / MARKER)
        self._store_ports()

    def _store_ports(self) -> None:
        """Leaves the ports for whoever comes to this folder without being told them."""
        ports = {name: getattr(self, f"{name.lower()}_port") for name in DEFAULT_PORTS}
        path = self.root / PORTS_FILE
        if _stored_ports(path) != ports:
            new = path.with_suffix(".new")
            new.write_text(json.dumps(ports) + "\n", encoding="ascii")
            new.replace(path)

    def _take_if_empty(self) -> None:
        """Whoever is the first to put something into a new folder marks it."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not any(self.root.iterdir()):
            (self.root / MARKER).write_text(json.dumps({"format": FORMAT_VERSION}) + "\n", encoding="ascii")


def known_broker(broker_id: int) -> int:
    """The id itself, or `ConfigError` when the local cluster has no such broker."""
    if broker_id not in BROKER_IDS:
        raise ConfigError(f"There is no broker {broker_id} in the local cluster; its brokers are {', '.join(map(str, BROKER_IDS))}")
    return broker_id


def _port(name: str, values: Mapping[str, str], default: int) -> int:
    text = values.get(name, "")
    if not text:
        return default
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise ConfigError(f"{name}={text!r} is not a port number (1 to 65535)")
    return int(text)


def _stored_ports(path: Path) -> dict[str, int]:
    """The ports that were written there; none where there is no such file."""
    try:
        found = json.loads(path.read_text(encoding="ascii"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read ({error}): remove it, and name the ports by HIGHWATER_…_PORT") from None
    if not isinstance(found, dict) or not all(
        name in DEFAULT_PORTS and type(port) is int and 1 <= port <= 65535 for name, port in found.items()
    ):
        raise ConfigError(f"{path} holds no ports: remove it, and name them by HIGHWATER_…_PORT")
    return found


def _write_secret(path: Path, value: str) -> str:
    """Writes a new secret, or returns the one that somebody else wrote first."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(value + "\n")
    return value


def _check_marker(marker: Path) -> None:
    try:
        found = json.loads(marker.read_text(encoding="ascii"))["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{marker} cannot be read ({error}): restore it or name another folder by DATA=dir") from None
    if found != FORMAT_VERSION:
        raise ConfigError(
            f"{marker} says format {found}, this version of Highwater reads format {FORMAT_VERSION}: name another folder by DATA=dir"
        )
