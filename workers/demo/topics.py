"""Creates the demo's topics once the cluster can hold them."""

from __future__ import annotations

import logging
import threading

from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import KafkaError, TopicAlreadyExistsError

from workers.demo.shapes import SHAPES, Shape

log = logging.getLogger(__name__)
RETRY_SECONDS = 2.0


def create_all(bootstrap_servers: str, stop: threading.Event) -> None:
    """Creates what is missing, trying again until it is done or `stop` is set."""
    missing = list(SHAPES)
    while missing and not stop.is_set():
        try:
            missing = _create(bootstrap_servers, missing)
        except KafkaError as error:
            log.warning("topics not created yet: %s", error)
        if missing:
            stop.wait(RETRY_SECONDS)


def _create(bootstrap_servers: str, shapes: list[Shape]) -> list[Shape]:
    """Tries each shape once; returns those still missing."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap_servers, client_id="demo-admin")
    try:
        return [shape for shape in shapes if not _created(admin, shape)]
    finally:
        admin.close()


def _created(admin: KafkaAdminClient, shape: Shape) -> bool:
    topic = NewTopic(shape.topic, shape.partitions, shape.replication_factor, topic_configs=shape.config)
    try:
        admin.create_topics([topic], timeout_ms=10_000)
    except TopicAlreadyExistsError:
        return True
    except KafkaError as error:
        log.warning("topic %s not created yet: %s", shape.topic, error)
        return False
    log.info("topic %s created", shape.topic)
    return True
