"""HW-015: throttles of replication that are set although no job under way has set them (KIP-73, `console/rules/throttle.py`).

A list of throttled replicas without a rate throttles nothing, and a rate without a list does not either: both are told, as they wait for
the other half. Partitions that move without a job of ours may be another tool's, which then takes its throttle away itself: notice.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.contract.sentences import Level
from console.rules.report.facts import Facts
from console.rules.report.finding import Finding, Outcome
from console.rules.throttle import LISTS, RATES
from console.rules.words import counted, size

PAGE, PLACE = "/jobs/throttles", "clear throttles left behind"
"""Where those that nothing uses are taken back."""


def left_over(facts: Facts) -> Outcome:
    own_brokers = frozenset[int]().union(*(one.brokers for one in facts.throttling))
    own_topics = frozenset[str]().union(*(one.topics for one in facts.throttling))
    moving = sum(broker.controller.partitions_moving for broker in facts.online if broker.controller)
    level: Level = "notice" if moving else "warn"
    found = [
        _of_broker(broker.broker_id, set_, level, moving)
        for broker in facts.brokers
        if broker.broker_id not in own_brokers and (set_ := _set(broker.own_settings, RATES))
    ]
    found += [
        _of_topic(topic.topic, set_, level, moving)
        for topic in facts.topics
        if topic.topic not in own_topics and (set_ := _set(topic.own_settings, LISTS))
    ]
    untold = {
        "broker": sum(broker.own_settings is None for broker in facts.brokers),
        "topic": sum(topic.own_settings is None for topic in facts.topics),
    }
    why = " and ".join(counted(count, noun) for noun, count in untold.items() if count)
    return Outcome(found, f"the settings of {why} are not told" if why else "" if facts.brokers else "no broker is known")


def _set(own: Mapping[str, str] | None, names: tuple[str, ...]) -> dict[str, str]:
    return {name: own[name] for name in names if own and own.get(name)}


def _moving(moving: int) -> str:
    return f" {counted(moving, 'partition')} {'is' if moving == 1 else 'are'} being moved: it may belong to that." if moving else ""


def _of_broker(broker: int, found: Mapping[str, str], level: Level, moving: int) -> Finding:
    said = "; ".join(f"{name} is {_rate(value)}" for name, value in found.items())
    sentence = f"Broker {broker} has a throttle of replication left over: no job under way has set it."
    advice = "Take the settings back: replicas that fell behind catch up no faster than this."
    return Finding(f"broker {broker}", level, sentence, f"{said}.{_moving(moving)}", advice, PAGE, PLACE)


def _of_topic(topic: str, found: Mapping[str, str], level: Level, moving: int) -> Finding:
    said = "; ".join(f"{name} names {_listed(value)}" for name, value in found.items())
    sentence = f"{topic} has throttled replicas left over: no job under way has named them."
    advice = "Take the settings back: under a rate of the brokers these replicas copy no faster than that."
    return Finding(topic, level, sentence, f"{said}.{_moving(moving)}", advice, PAGE, PLACE)


def _rate(value: str) -> str:
    return f"{size(int(value))}/s" if value.isascii() and value.isdigit() and len(value) < 20 else value


def _listed(value: str) -> str:
    return "every replica" if value == "*" else counted(value.count(",") + 1, "replica")
