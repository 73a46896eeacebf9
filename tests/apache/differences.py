"""Where our broker answers otherwise than Apache Kafka 3.9 on purpose: name of the comparison, and why."""

from __future__ import annotations

INTENDED: dict[str, str] = {
    "assignment to nobody": "Kafka makes a partition without replicas that nothing can mend",
    "negative broker": "Kafka makes a partition that no broker can ever lead",
    "partition assigned twice": "Kafka takes the last of two contradicting lists",
    "null name without an id": "Kafka fails with an internal error",
    "neither name nor id": "Kafka says that authorization failed, with no authorizer configured",
}
