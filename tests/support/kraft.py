"""Apache Kafka 4 without ZooKeeper: brokers in KRaft mode, of which the first is the controller, too."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping
from pathlib import Path

from broker_core.local.services import java_binary
from tests.support.broker_process import JAVA, LOG4J, BrokerProcess
from tests.support.kafka_jars import KAFKA_4_VERSION, classpath
from tests.support.ports import free_ports

CONTROLLER = 1


class KRaftBroker(BrokerProcess):
    def __init__(self, folder: Path, node_id: int, cluster_id: str, controller_port: int, settings: Mapping[str, str]) -> None:
        port, leads = free_ports(), node_id == CONTROLLER
        client, control = f"PLAINTEXT://127.0.0.1:{port}", f"CONTROLLER://127.0.0.1:{controller_port}"
        own = {
            "node.id": str(node_id),
            "process.roles": "broker,controller" if leads else "broker",
            "controller.quorum.voters": f"{CONTROLLER}@127.0.0.1:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "listeners": f"{client},{control}" if leads else client,
            "advertised.listeners": client,
        }
        super().__init__(folder, port, {**own, **settings})
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
    cluster_id, controller_port = kafka_uuid(), free_ports()
    return [
        KRaftBroker(folder / str(n), n, cluster_id, controller_port, {"broker.rack": f"rack-{n}", **settings}) for n in range(1, count + 1)
    ]
