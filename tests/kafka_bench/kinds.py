"""The two kinds of brokers that are compared, behind one protocol: whoever measures knows no other difference between them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from broker_core.local.services import java_binary
from tests.support.broker_process import LOG4J, ApacheKafka, BrokerProcess, Highwater
from tests.support.kafka_jars import KAFKA_VERSION, classpath

JVM = (
    *("-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"),
    *("-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true"),
)
"""What Kafka's own kafka-server-start.sh gives a broker."""


class Kind(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def label(self) -> str: ...

    def broker(self, folder: Path, port: int, settings: Mapping[str, str]) -> BrokerProcess: ...


class WarmedKafka(ApacheKafka):
    """As an operator starts it: the other tests want a JVM that starts soon, here it is to be fast."""

    def command(self, config: Path) -> list[str]:
        logging = self.folder / "log4j2.properties"
        logging.write_text(LOG4J)
        return [java_binary(), *JVM, f"-Dlog4j2.configurationFile={logging}", "-cp", classpath(), "kafka.Kafka", str(config)]


class Kafka:
    name = "kafka"
    label = f"Apache Kafka {KAFKA_VERSION}"

    def broker(self, folder: Path, port: int, settings: Mapping[str, str]) -> BrokerProcess:
        return WarmedKafka(folder, port, settings)


class Ours:
    name = "highwater"
    label = "Highwater"

    def broker(self, folder: Path, port: int, settings: Mapping[str, str]) -> BrokerProcess:
        return Highwater(folder, port, settings)


KINDS: tuple[Kind, ...] = (Kafka(), Ours())
