"""One broker with settings of its own, as a process: Apache Kafka's or ours, told apart by their commands only."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from broker_core.local.process import wait_until
from broker_core.local.services import java_binary, tail
from tests.support.kafka_jars import classpath
from tests.support.metadata import metadata_of

READY_SECONDS = 240.0
STOP_SECONDS = 60.0
ROOT = Path(__file__).resolve().parent.parent.parent
JAVA = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Djava.awt.headless=true")
LOG4J = """status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %-5p %c{1}: %m%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
"""


class BrokerProcess:
    """`start` returns once the broker names itself as the leader's home in its metadata; `stop` is a clean one."""

    def __init__(self, folder: Path, port: int, settings: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = port
        self.log_dir = folder / "log"
        self.settings = {"listeners": f"PLAINTEXT://127.0.0.1:{port}", "log.dirs": str(self.log_dir), **settings}
        self.process: subprocess.Popen[bytes] | None = None

    def command(self, config: Path) -> list[str]:
        raise NotImplementedError

    def launch(self) -> None:
        config = self.folder / "server.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in self.settings.items()))
        with (self.folder / "out.txt").open("ab") as out:
            self.process = subprocess.Popen(self.command(config), stdout=out, stderr=out, cwd=ROOT)

    def wait(self) -> None:
        wait_until(lambda: self.answers() or self.ended(), READY_SECONDS)
        assert not self.ended() and self.answers(), tail(self.folder / "out.txt", 10_000)

    def start(self) -> None:
        self.launch()
        self.wait()

    def ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def answers(self) -> bool:
        """Whether its metadata names a controller and itself."""
        answer = metadata_of(self.port)
        return answer is not None and answer.controller_id >= 0 and self.port in {broker.port for broker in answer.brokers}

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class ApacheKafka(BrokerProcess):
    def command(self, config: Path) -> list[str]:
        logging = self.folder / "log4j2.properties"
        logging.write_text(LOG4J)
        return [java_binary(), *JAVA, f"-Dlog4j2.configurationFile={logging}", "-cp", classpath(), "kafka.Kafka", str(config)]


class Highwater(BrokerProcess):
    def command(self, config: Path) -> list[str]:
        return [sys.executable, "-m", "broker_core", "--config", str(config)]


@contextlib.contextmanager
def running(*brokers: BrokerProcess) -> Iterator[None]:
    """All of them started side by side, and surely gone afterwards."""
    try:
        for broker in brokers:
            broker.launch()
        for broker in brokers:
            broker.wait()
        yield
    finally:
        for broker in brokers:
            broker.kill()
