"""The broker's process: arguments, data-folder locks, real adapters, signals, metrics port, watchdog.

Exit status: 0 after a clean stop, 1 when the broker could not start or go on, 2 for wrong arguments or settings.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.config.environment import properties_from
from broker_core.config.idle import why_without_effect
from broker_core.coordination.store import StoreError
from broker_core.coordination.zookeeper import ZooKeeperStore
from broker_core.errors import ConfigError, HighwaterError
from broker_core.seams import Node
from broker_core.server import process
from broker_core.server.adapters.aside import AsideThread
from broker_core.server.adapters.clock import RealClock
from broker_core.server.adapters.disk import RealDisk
from broker_core.server.adapters.entropy import OsEntropy
from broker_core.server.adapters.network import NetworkLimits, RealNetwork
from broker_core.server.adapters.spawn import RealSpawn
from broker_core.server.broker import Broker
from broker_core.server.broker_id import with_broker_id
from broker_core.server.collector import Collector
from broker_core.server.metrics_http import MetricsServer
from broker_core.server.process_gauges import process_gauges
from broker_core.server.properties import parse_overrides, parse_properties
from broker_core.server.watchdog import Watchdog
from broker_core.storage.manager import NOTHING_UNUSABLE
from broker_core.telemetry.prometheus import Gauge, render

log = logging.getLogger(__name__)

PROPERTY_FILE_BYTES_MAX = 1024 * 1024
ELECTION_SECONDS = 20.0
"""A busy machine takes seconds from the end of a session to the new controller's first word."""
EXIT_FAILED, EXIT_USAGE, EXIT_HUNG = 1, 2, 75


def main(arguments: Sequence[str] | None = None) -> int:
    options = _arguments(arguments)
    try:
        config = load_config(options.config, options.override, os.environ if options.environment else {})
        process.set_up_logging(options.log_file, options.log_level)
        for name in config.without_effect:
            log.warning("a setting has no effect here", extra={"setting": name, "why": why_without_effect(name)})
        with process.data_folder_locks(config.log_dirs) as unusable:
            return asyncio.run(serve(config, unusable))
    except ConfigError as error:
        print(f"broker: {error}", file=sys.stderr)  # noqa: T201
        return EXIT_USAGE
    except OSError as error:
        print(f"broker: the data folder or log file cannot be used: {error}", file=sys.stderr)  # noqa: T201
        return EXIT_FAILED


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m broker_core", description="Runs one broker.")
    parser.add_argument("--config", type=Path, help="property file with Kafka's settings")
    parser.add_argument("--environment", action="store_true", help="settings from KAFKA_… variables, which win over the file's")
    parser.add_argument("--override", action="append", default=[], metavar="KEY=VALUE", help="a setting that wins over both")
    parser.add_argument("--log-file", type=Path, help="where log lines go, rotated; standard output without it")
    parser.add_argument("--log-level", default="info", choices=("debug", "info", "warning", "error"))
    options = parser.parse_args(arguments)
    if options.config is None and not options.environment:
        parser.error("settings are missing: give --config, --environment or both")
    return options


def load_config(file: Path | None, overrides: Sequence[str], environment: Mapping[str, str] = MappingProxyType({})) -> BrokerConfig:
    """The settings of a property file, the environment and the arguments; `ConfigError` says what is wrong and where."""
    given = {} if file is None else parse_properties(_read(file), str(file))
    return BrokerConfig.load({**given, **properties_from(environment), **parse_overrides(overrides)})


def _read(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as stream:
            return stream.read(PROPERTY_FILE_BYTES_MAX)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from None


async def serve(config: BrokerConfig, unusable: Mapping[str, OSError] = NOTHING_UNUSABLE) -> int:
    """Runs the broker until a signal or a failure ends it; `unusable` are data folders that could not be locked."""
    connections_limit = process.connections_limit(process.raise_open_files_limit())
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[int] = loop.create_future()
    hurry: asyncio.Future[int] = loop.create_future()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _signalled, stop, hurry)
    store = ZooKeeperStore(
        config.zookeeper_connect, config.zookeeper_session_timeout_ms, max_in_flight=config.zookeeper_max_in_flight_requests
    )
    spawn, disk, aside = RealSpawn(), RealDisk(), AsideThread()
    try:
        config = await with_broker_id(config, disk, store)
    except (StoreError, OSError) as error:
        log.critical("the broker has no id, and none could be made", extra={"error": str(error)})
        await _close(spawn, store)
        aside.close()
        return EXIT_FAILED
    holder = ConfigHolder(config)
    network = RealNetwork(lambda: _limits(holder.current, connections_limit), config.socket_request_max_bytes)
    broker = Broker(
        Node(RealClock(), spawn, OsEntropy(), disk, network, store, aside),
        holder,
        unusable=unusable,
        on_failure=lambda error: _finish(stop, EXIT_FAILED),
    )
    metrics = MetricsServer(
        lambda: render(broker.metrics, broker.broker_id, [*broker.gauges(), *_network_gauges(network), *process_gauges()])
    )
    starting: asyncio.Future[int] = asyncio.ensure_future(_start(broker, metrics))
    await asyncio.wait((starting, stop), return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
    try:
        metrics_port = await starting
    except (HighwaterError, StoreError, OSError) as error:
        log.critical("the broker could not start", extra={"broker": config.broker_id, "error": str(error)})
        status = EXIT_FAILED
    except asyncio.CancelledError:
        status = stop.result()
    else:
        status = await _serve_started(broker, metrics_port, stop, hurry)
    await metrics.stop()
    await _close(spawn, store)
    aside.close()
    return status


async def _start(broker: Broker, metrics: MetricsServer) -> int:
    """The port of the metrics, 0 for none."""
    wanted = broker.config.static.highwater_metrics_port
    metrics_port = await metrics.start(broker.config.static.highwater_metrics_host, wanted) if wanted else 0
    await broker.start()
    return metrics_port


def _limits(config: BrokerConfig, connections_limit: int) -> NetworkLimits:
    return NetworkLimits(
        config.socket_request_max_bytes,
        config.queued_max_request_bytes,
        config.queued_max_requests,
        min(config.max_connections, connections_limit),
        config.max_connections_per_ip,
        config.connections_max_idle_ms,
        config.max_connections_per_ip_overrides,
        config.socket_listen_backlog_size,
        config.socket_send_buffer_bytes,
        config.socket_receive_buffer_bytes,
    )


def _network_gauges(network: RealNetwork) -> list[Gauge]:
    counts = network.counts
    return [
        ("connections_refused_total", "Connections over the limits.", counts.refused),
        ("connections_closed_idle_total", "Connections closed for being idle.", counts.closed_idle),
        ("broken_frames_total", "Frames that broke a limit.", counts.broken_frames),
        ("request_queue_size", "Requests read and not begun.", network.queue.size),
        ("request_queue_pauses_total", "Times a connection was not read because the request queue was full.", network.queue.pauses),
        ("request_turns_cut_total", "Turns of a connection that ended with requests left for the next.", network.queue.yields),
    ]


async def _serve_started(broker: Broker, metrics_port: int, stop: asyncio.Future[int], hurry: asyncio.Future[int]) -> int:
    folders = [Path(folder.path) for folder in broker.services.logs.folders.online]
    watchdog = Watchdog(broker.metrics, lambda: os._exit(EXIT_HUNG))
    watchdog.start()
    await _wait_for_controller(broker, stop)
    try:
        process.write_ready_in(folders, port=broker.port, broker_epoch=broker.epoch, metrics_port=metrics_port)
    except OSError as error:
        log.critical("the broker cannot say that it is ready", extra={"broker": broker.broker_id, "error": str(error)})
        status = EXIT_FAILED
    else:
        log.info("ready", extra={"broker": broker.broker_id, "port": broker.port})
        collector = Collector(lambda: broker.services.replicas.partitions.count)
        collector.start()
        status = await stop
        collector.stop()
    for folder in folders:
        with contextlib.suppress(OSError):
            process.clear_ready(folder)
    watchdog.stop()
    if status == 0:
        await _hand_over(broker, hurry)
    await broker.shutdown(controlled=False)
    return status


async def _hand_over(broker: Broker, hurry: asyncio.Future[int]) -> None:
    """Until the leaderships are handed over, or a second signal asks to leave that."""
    handing_over = asyncio.ensure_future(broker.hand_over())
    await asyncio.wait((handing_over, hurry), return_when=asyncio.FIRST_COMPLETED)
    if not handing_over.done():
        log.warning("asked twice to stop: the leaderships still held are not handed over", extra={"broker": broker.broker_id})
        handing_over.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await handing_over


async def _wait_for_controller(broker: Broker, stop: asyncio.Future[int]) -> None:
    """Until the controller has told of itself: librdkafka takes "no controller" for an answer for minutes.

    Not for ever: a dead controller's office is free when its session is over, and then it takes a moment to be filled.
    """
    metadata = broker.services.metadata
    told: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    metadata.on_change(lambda: _finish(told, 0))
    if metadata.controller_id < 0:
        limit_s = broker.config.static.zookeeper_session_timeout_ms / 1000 + ELECTION_SECONDS
        ended, _ = await asyncio.wait((told, stop), timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        if not ended:
            log.warning("no controller has told of itself", extra={"broker": broker.broker_id, "waited_s": limit_s})


async def _close(spawn: RealSpawn, store: ZooKeeperStore) -> None:
    await spawn.close()
    with contextlib.suppress(StoreError):
        await store.close()


def _signalled(stop: asyncio.Future[int], hurry: asyncio.Future[int]) -> None:
    """The first signal asks for a controlled stop, the next one to leave out the handing over."""
    _finish(hurry if stop.done() else stop, 0)


def _finish(stop: asyncio.Future[int], status: int) -> None:
    if not stop.done():
        stop.set_result(status)
