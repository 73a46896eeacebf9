"""The whole local system beside the cluster: Redis, console, live feed, workers and demo traffic.

These are separate programs, started by their command lines; this module imports none of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from msgspec import Struct

from broker_core.errors import HighwaterError
from broker_core.local import spark_install
from broker_core.local.control import Say
from broker_core.local.layout import Layout
from broker_core.local.process import LocalProcess, ProcessError
from broker_core.local.services import check_port_free, redis_process, start_redis, tail, wait_ready

ROOT = Path(__file__).resolve().parent.parent.parent
CONSOLE_READY_SECONDS = 60.0
LOG_LIMIT_BYTES = 10 * 1024 * 1024


class Program(Struct, frozen=True):
    """One of our programs: `module` and its arguments run by this interpreter."""

    name: str
    arguments: tuple[str, ...]


def programs(layout: Layout, *, demo: bool) -> list[Program]:
    """All programs in the order in which they are started; stopped in the opposite one."""
    beat_file = str(layout.folder("console") / "beat-schedule")
    found = [
        Program("console", ("-m", "uvicorn", "console.asgi:application", *_uvicorn_options(layout))),
        Program("live", ("manage.py", "live", "--cluster", "local")),
        Program("collect", ("manage.py", "collect")),
        Program("history", ("manage.py", "history")),
        Program("reader", ("-m", "workers.reader")),
        Program("worker", ("-m", "celery", "-A", "workers.app", "worker", "-Q", "jobs,health,analytics", "-c", "2", "-l", "info")),
        Program("beat", ("-m", "celery", "-A", "workers.app", "beat", "-s", beat_file, "-l", "info")),
    ]
    return [*found, Program("demo", ("-m", "workers.demo"))] if demo else found


def _uvicorn_options(layout: Layout) -> tuple[str, ...]:
    fixed = ("--lifespan", "off", "--ws", "websockets-sansio", "--no-access-log", "--no-proxy-headers", "--timeout-graceful-shutdown", "3")
    return ("--host", "127.0.0.1", "--port", str(layout.console_port), *fixed)


def environment(layout: Layout) -> dict[str, str]:
    """What the console's programs get: this shell's environment, and where the system's parts are."""
    return {
        **os.environ,
        "HIGHWATER_DATA": str(layout.root),
        "HIGHWATER_REDIS_URL": layout.redis_url,
        "HIGHWATER_BOOTSTRAP_SERVERS": layout.bootstrap_servers,
        "HIGHWATER_ZOOKEEPER": layout.zookeeper_connect,
        "HIGHWATER_CONSOLE_PORT": str(layout.console_port),
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": str(ROOT),
    }


def process_of(layout: Layout, name: str) -> LocalProcess:
    return LocalProcess(name, layout.folder("run"))


def bootstrap(layout: Layout) -> str:
    """Database, secrets and first admin; returns what the command printed (the password, the first time)."""
    command = [sys.executable, "manage.py", "bootstrap"]
    done = subprocess.run(command, cwd=ROOT, env=environment(layout), capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise ProcessError(f"The console's set-up failed:\n{(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout.strip()


def start_program(layout: Layout, program: Program) -> None:
    """Starts one program without waiting for it."""
    if program.name == "console":
        check_port_free(layout.console_port, "the console", "HIGHWATER_CONSOLE_PORT")
    process_of(layout, program.name).start([sys.executable, *program.arguments], layout.log_file(program.name), environment(layout), ROOT)


def wait_console(layout: Layout) -> None:
    """Waits until the console answers."""
    wait_ready(process_of(layout, "console"), lambda: _answers(layout), CONSOLE_READY_SECONDS, layout.log_file("console"))


def install_spark(layout: Layout, say: Say) -> None:
    """Starts what installs PySpark, unless it is there or under way; nothing of the cluster waits for it."""
    process = process_of(layout, "spark-install")
    if spark_install.status().state in ("ready", "installing") or process.alive():
        return
    command = ["nice", "-n", "10", sys.executable, "-m", "broker_core.local.spark_installer"]
    process.start(command, layout.log_file("spark-install"), environment(layout), ROOT)
    say("PySpark (434 MB) is being installed meanwhile: the page Analytics says how far it is")


def start_side(layout: Layout, say: Say) -> str:
    """Redis and the console's database, which do not need the cluster; returns the bootstrap's words."""
    say("Redis …")
    start_redis(layout)
    say("database, secrets, first admin …")
    return bootstrap(layout)


def stop_all(layout: Layout, say: Say) -> None:
    """Stops every program, then Redis; what does not run is fine."""
    for program in reversed(programs(layout, demo=True)):
        if process_of(layout, program.name).stop():
            say(f"{program.name} stopped")
    for name, words in (("analytics", "analytics stopped"), ("spark-install", "the installation of PySpark stopped")):
        if process_of(layout, name).stop():
            say(words)
    if redis_process(layout).stop():
        say("Redis stopped")


def restart_dead(layout: Layout, *, demo: bool, say: Say) -> None:
    """Starts again whatever ended by itself, Redis first, saying so with the end of its log; what cannot be started is told and tried
    again at the next look. ZooKeeper and brokers are `watch.py`'s."""
    starts = {"redis": partial(start_redis, layout)}
    starts |= {program.name: partial(start_program, layout, program) for program in programs(layout, demo=demo)}
    for name, start in starts.items():
        if process_of(layout, name).alive():
            continue
        say(f"{name} ended and is started again; the end of its log:\n{tail(layout.log_file(name), 800)}")
        try:
            start()
        except (HighwaterError, OSError) as error:
            say(f"{name} could not be started: {error}")


def trim_logs(layout: Layout) -> None:
    """Copies a log that has grown over the limit to NAME.log.1 and empties it (writers append, so nothing tears)."""
    for path in layout.folder("logs").glob("*.log"):
        if path.stat().st_size > LOG_LIMIT_BYTES:
            path.with_suffix(".log.1").write_bytes(path.read_bytes())
            os.truncate(path, 0)


def _answers(layout: Layout) -> bool:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", layout.console_port, timeout=2.0)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
