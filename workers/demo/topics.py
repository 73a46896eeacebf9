"""Creates the demo's topics once the cluster can hold them."""

from __future__ import annotations

import logging
import threading

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from workers.demo.shapes import SHAPES, Shape

log = logging.getLogger(__name__)
RETRY_SECONDS = 2.0
REQUEST_SECONDS = 10.0


def create_all(bootstrap_servers: str, stop: threading.Event) -> None:
    """Creates what is missing, trying again until it is done or `stop` is set."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "client.id": "demo-admin", "log_level": 0})
    missing = list(SHAPES)
    while missing and not stop.is_set():
        missing = [shape for shape in missing if not _created(admin, shape)]
        if missing:
            stop.wait(RETRY_SECONDS)


def _created(admin: AdminClient, shape: Shape) -> bool:
    topic = NewTopic(shape.topic, shape.partitions, shape.replication_factor, config=shape.config)
    try:
        admin.create_topics([topic], request_timeout=REQUEST_SECONDS)[shape.topic].result(REQUEST_SECONDS + 1)
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return True
        log.warning("topic %s not created yet: %s", shape.topic, error)
        return False
    except TimeoutError:
        log.warning("topic %s not created yet: nobody answered", shape.topic)
        return False
    log.info("topic %s created", shape.topic)
    return True
