"""Apache Kafka 4 without ZooKeeper: brokers in KRaft mode, of which the first is the controller, too."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping
from pathlib import Path

from broker_core.local.services import java_binary
from tests.support.broker_process import JAVA, LOG4J, BrokerProcess
from tests.support.kafka_jars import KAFKA_4_VERSION, classpath
from tests.support.kafka_listener import Certificate
from tests.support.ports import free_ports

CONTROLLER = 1
MECHANISM = "SCRAM-SHA-512"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


class KRaftBroker(BrokerProcess):
    """It listens twice: without any protection at `port`, and with TLS and SCRAM at `secure_port`; `certificate` is its cluster's."""

    def __init__(
        self, folder: Path, node_id: int, cluster_id: str, controller_port: int, certificate: Certificate, settings: Mapping[str, str]
    ) -> None:
        port, leads = free_ports(), node_id == CONTROLLER
        self.secure_port = free_ports()
        client, control = f"PLAINTEXT://127.0.0.1:{port},SECURE://127.0.0.1:{self.secure_port}", f"CONTROLLER://127.0.0.1:{controller_port}"
        own = {
            "node.id": str(node_id),
            "process.roles": "broker,controller" if leads else "broker",
            "controller.quorum.voters": f"{CONTROLLER}@127.0.0.1:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL",
            "listeners": f"{client},{control}" if leads else client,
            "advertised.listeners": client,
        }
        super().__init__(folder, port, {**own, **settings})
        self.certificate = certificate
        self.settings |= {
            "sasl.enabled.mechanisms": MECHANISM,
            f"listener.name.secure.{MECHANISM.lower()}.sasl.jaas.config": SCRAM,
            "listener.name.secure.ssl.keystore.type": "PEM",
            "listener.name.secure.ssl.keystore.location": str(self.certificate.path),
        }
        self.log_dir.mkdir(exist_ok=True)
        formatted = f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={kafka_uuid()}\n"
        (self.log_dir / "meta.properties").write_text(formatted)

    def command(self, config: Path) -> list[str]:
        logging = self.folder / "log4j2.properties"
        logging.write_text(LOG4J)
        options = (*JAVA, f"-Dlog4j2.configurationFile={logging}", "-cp", classpath(KAFKA_4_VERSION))
        return [java_binary(), *options, "kafka.Kafka", str(config)]


def kafka_uuid() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()


def kraft_brokers(folder: Path, count: int, settings: Mapping[str, str]) -> list[KRaftBroker]:
    folder.mkdir(parents=True, exist_ok=True)
    common = (kafka_uuid(), free_ports(), Certificate(folder, "127.0.0.1"))
    return [KRaftBroker(folder / str(n), n, *common, {"broker.rack": f"rack-{n}", **settings}) for n in range(1, count + 1)]
