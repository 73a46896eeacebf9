"""Where our broker answers otherwise than Apache Kafka 3.9 on purpose: name of the comparison, and why."""

from __future__ import annotations

from broker_core.config.departures import LIKE_KAFKAS, OF_BROKERS

INTENDED: dict[str, str] = {
    "assignment to nobody": "Kafka makes a partition without replicas that nothing can mend",
    "assignment to an unknown broker": "told as a partition without a leader, so that clients count right; Kafka tells nothing of it",
    "negative broker": "Kafka makes a partition that no broker can ever lead",
    "partition assigned twice": "Kafka takes the last of two contradicting lists",
    "null name without an id": "Kafka fails with an internal error",
    "neither name nor id": "Kafka says that authorization failed, with no authorizer configured",
    "producer without an epoch": "no producer sends a producer id without an epoch, and Kafka stores what none can fence",
    "election of another kind": "Kafka fails with an internal error",
    "unknown operation": "Kafka fails with an internal error",
    "unknown setting of a broker": "Kafka keeps it for plug-ins that it may have; ours has none",
    "message set cut short": "refused whole; Kafka takes the messages before the cut",
    "two message sets": "all is converted; Kafka cuts what grew by it at the size it had before, and the client asks again",
    "ends version 0": "one offset by the records' time for clients before 0.10.1; Kafka lists segments by their files' time",
    "in many segments version 0": "as above",
    "named again": "a group is described once: Kafka's answer grows with each mention of a group of any size",
}

BROKER_SETTINGS = OF_BROKERS.keys() - LIKE_KAFKAS
"""Broker settings that are described otherwise."""

BROKER_SETTINGS_OURS = {
    "highwater.decoding.max.bytes",
    "highwater.decoding.max.ms",
    "highwater.decoding.max.records",
    "highwater.metrics.host",
    "highwater.metrics.port",
    "highwater.watch.max.clients",
    "highwater.early.failover.enable",
}
"""Broker settings that Kafka has not."""
