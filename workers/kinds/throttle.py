"""Sets and takes away the throttle of a reassignment. What was there before is noted in the job's plan before anything is changed.

The plan's `throttle` is `{rate, before: {broker: {setting: value or null}}, topics: {topic: {setting: [partition:broker]}}}`, of a steered
one with `steering` (`console/rules/steering.py`) and `late`, the brokers that were down when the rate changed. Each function may be called
again after a worker died in the middle of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.rules.throttle import RATES, joined, wanted, without

UNKNOWN_TOPIC = 3
Throttle = dict[str, Any]


def plan(kafka: KafkaCluster, rows: Sequence[dict[str, Any]], rate: int, online: set[int]) -> Throttle | None:
    """What `put` sets and `take_away` restores; None where no record is copied. Changes nothing."""
    found = wanted(rows, online)
    before = {}
    for broker in found["brokers"]:
        own = kafka.own_broker_configs(broker)
        before[str(broker)] = {key: own.get(key) for key in RATES}
    return {"rate": rate, "before": before, "topics": found["topics"]} if found["topics"] else None


def put(kafka: KafkaCluster, throttle: Throttle) -> None:
    """The rates before the lists: a replica that is listed is throttled from the start."""
    for broker in throttle["before"]:
        kafka.alter_broker_config(int(broker), dict.fromkeys(RATES, str(throttle["rate"])))
    for topic, lists in throttle["topics"].items():
        now = own_topic_configs(kafka, topic)
        kafka.alter_topic_config(topic, {key: joined(now.get(key), entries) for key, entries in lists.items()})


def at_rate(kafka: KafkaCluster, throttle: Throttle, rate: int) -> Throttle:
    """The throttle with another rate; a broker that is down gets it once it is back."""
    wanting = throttle.get("late", []) if rate == throttle["rate"] else sorted(map(int, throttle["before"]))
    online = kafka.brokers() if wanting else set()
    for broker in wanting:
        if broker in online:
            kafka.alter_broker_config(broker, dict.fromkeys(RATES, str(rate)))
    return {**throttle, "rate": rate, "late": [broker for broker in wanting if broker not in online]}


def take_away(kafka: KafkaCluster, throttle: Throttle) -> list[int]:
    """The lists before the rates; the brokers that could not be asked because they are down. Without the lists their rate has no effect."""
    for topic, lists in throttle["topics"].items():
        try:
            now = own_topic_configs(kafka, topic)
            if rest := {key: without(now[key], entries) for key, entries in lists.items() if key in now}:
                kafka.alter_topic_config(topic, rest)
        except GatewayError as error:
            if error.code != UNKNOWN_TOPIC:
                raise
    online = kafka.brokers()
    for broker, before in throttle["before"].items():
        if int(broker) in online:
            kafka.alter_broker_config(int(broker), before)
    return sorted(int(broker) for broker in throttle["before"] if int(broker) not in online)


def own_topic_configs(kafka: KafkaCluster, topic: str) -> dict[str, str]:
    return {row["name"]: row["value"] for row in kafka.topic_configs(topic) if row["source"] == "topic"}
