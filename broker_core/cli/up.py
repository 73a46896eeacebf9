"""`highwater up`: the whole system in the foreground until Ctrl-C, then down again."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

from broker_core.cli import system
from broker_core.cli.watch import Watch
from broker_core.errors import ConfigError
from broker_core.local import control
from broker_core.local.brokers import check_ports_free
from broker_core.local.layout import BROKER_IDS, Layout
from broker_core.local.process import LocalProcess, ProcessError, exclusive, wait_until
from broker_core.local.services import check_port_free, java_version

LEAST_JAVA = 17
LOOK_SECONDS = 0.5
"""So pages follow a new owner of the live state within 5 s of the old one's death; a look is a few tries of locks."""
STARTER = "up"
"""`up` holds a lock and writes its pid as the processes do that it starts, so that `down` finds it."""
STARTER_SECONDS = 90.0


def run(data: Path, *, demo: bool) -> int:
    """Starts everything, prints where it is, waits for SIGINT or SIGTERM, stops everything."""
    layout = Layout.from_environment(data)
    layout.prepare()
    if java_version() < LEAST_JAVA:
        raise ConfigError("Java 17 or newer is needed: apt-get install openjdk-17-jre-headless")
    stop = _stop_event()
    with exclusive(system.process_of(layout, STARTER).lock_path, "make up (is another one running with this data folder?)", seconds=1.0):
        system.process_of(layout, STARTER).pid_path.write_text(f"{os.getpid()}\n", encoding="ascii")
        _clear_leftovers(layout)
        _check_ports(layout)
        try:
            _start(layout, demo=demo, stop=stop)
            watch = Watch(layout, say)
            while not stop.wait(LOOK_SECONDS):
                watch.look()
                system.restart_dead(layout, demo=demo, say=say)
                system.trim_logs(layout)
        finally:
            say("stopping …")
            _down(layout)
            say("Everything is stopped.")
    return 0


def say(text: str) -> None:
    print(f"  {text}", flush=True)


def down(data: Path) -> int:
    """Stops everything that runs from the data folder, an `up` in another shell first: it would start again what ends."""
    layout = Layout.from_environment(data)
    _end_starter(system.process_of(layout, STARTER))
    _down(layout)
    return 0


def _end_starter(starter: LocalProcess) -> None:
    if starter.alive():
        say("highwater up is told to stop …")
        starter.send(signal.SIGTERM)
        if not wait_until(lambda: not starter.alive(), STARTER_SECONDS):
            raise ProcessError(f"highwater up (pid {starter.pid()}) has not stopped everything within {STARTER_SECONDS:.0f} s")


def _stop_event() -> threading.Event:
    """Set by the first SIGINT, SIGTERM or SIGHUP; further ones are ignored while everything stops."""
    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    return stop


def _clear_leftovers(layout: Layout) -> None:
    """Stops what a killed run left behind, so that ports and logs are ours."""
    _down(layout)


def _check_ports(layout: Layout) -> None:
    """Before anything starts: `ConfigError` names the first port that somebody else has."""
    check_port_free(layout.zookeeper_port, "ZooKeeper", "HIGHWATER_ZOOKEEPER_PORT")
    check_port_free(layout.redis_port, "Redis", "HIGHWATER_REDIS_PORT")
    check_port_free(layout.console_port, "the console", "HIGHWATER_CONSOLE_PORT")
    for broker_id in BROKER_IDS:
        check_ports_free(layout, broker_id)


def _start(layout: Layout, *, demo: bool, stop: threading.Event) -> None:
    began = time.monotonic()
    print(f"Highwater: starting from {layout.root}", flush=True)
    with ThreadPoolExecutor(1) as pool:
        side = pool.submit(system.start_side, layout, say)
        control.cluster_up(layout.root, say, _wanted(layout))
        words = side.result()
    for program in system.programs(layout, demo=demo):
        if stop.is_set():
            return
        say(f"{program.name} …")
        system.start_program(layout, program)
    system.wait_console(layout)
    _greet(layout, words, time.monotonic() - began)
    system.install_spark(layout, say)


def _wanted(layout: Layout) -> list[int]:
    """The brokers that nobody stopped or killed on purpose; of the others it is said how to have them back."""
    orders = control.wanted_brokers(layout)
    for broker_id, order in orders.items():
        if order:
            say(f"broker {broker_id} was {order.how} on purpose and stays down until: highwater broker start {broker_id}")
    return [broker_id for broker_id, order in orders.items() if order is None]


def _greet(layout: Layout, words: str, seconds: float) -> None:
    print(f"\nReady after {seconds:.1f} s.\n", flush=True)
    print(f"  Console:    {layout.console_url}")
    for line in words.splitlines():
        print(f"  {line}")
    print(f"  Bootstrap:  {layout.bootstrap_servers}")
    print(f"  Try:        kcat -b {layout.bootstrap_servers.partition(',')[0]} -L")
    print("\nCtrl-C stops everything.\n", flush=True)


def _down(layout: Layout) -> None:
    try:
        system.stop_all(layout, say)
    finally:
        try:
            control.cluster_down(layout.root, say, ordered=False)
        except ProcessError as error:
            say(str(error))
            raise
