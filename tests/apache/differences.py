"""Where our broker answers otherwise than Apache Kafka 3.9 on purpose: name of the comparison, and why."""

from __future__ import annotations

INTENDED: dict[str, str] = {
    "assignment to nobody": "Kafka makes a partition without replicas that nothing can mend",
    "negative broker": "Kafka makes a partition that no broker can ever lead",
    "partition assigned twice": "Kafka takes the last of two contradicting lists",
    "null name without an id": "Kafka fails with an internal error",
    "neither name nor id": "Kafka says that authorization failed, with no authorizer configured",
    "producer without an epoch": "no producer sends a producer id without an epoch, and Kafka stores what none can fence",
    "ends version 0": "one offset by the records' time for clients before 0.10.1; Kafka lists segments by their files' time",
    "in many segments version 0": "as above",
}
