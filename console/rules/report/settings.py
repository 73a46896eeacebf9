"""HW-016 and HW-017: settings and producers by which an acknowledged record can be lost (spec O2, `console/rules/no_loss.py`)."""

from __future__ import annotations

from collections import Counter

from broker_core.contract.partitions import Topic
from broker_core.contract.sentences import Level
from console.rules import no_loss
from console.rules.report.facts import Facts
from console.rules.report.finding import Finding, Outcome, topic_page
from console.rules.words import counted

ADVICE = {
    "replicas": "Give it three replicas: moves of partitions can add some.",
    "min.insync.replicas": "Set min.insync.replicas to 2.",
    "writable": "Set min.insync.replicas below the number of replicas, or add a replica.",
    "unclean.leader.election.enable": "Set it to false: a partition then waits for a replica that has all records.",
}


def topics(facts: Facts) -> Outcome:
    """The system's own topics are left out."""
    own = [topic for topic in facts.topics if not topic.internal]
    untold = sum(None in (topic.replication_factor, topic.min_insync_replicas, topic.unclean) for topic in own)
    return Outcome(
        [finding for topic in own for finding in _shortfalls(topic)],
        f"settings of {counted(untold, 'topic')} are not all told" if untold else "",
    )


def _shortfalls(topic: Topic) -> list[Finding]:
    found = no_loss.topic_findings(topic.topic, topic.replication_factor, topic.min_insync_replicas, topic.unclean)
    return [_finding(topic, what, sentence) for what, sentence in found.items()]


def _finding(topic: Topic, what: str, sentence: str) -> Finding:
    copies = what == "replicas"
    href, place = ("/jobs/move", "moves of partitions") if copies else (f"{topic_page(topic.topic)}/settings", f"settings of {topic.topic}")
    told = (("replicas", topic.replication_factor), ("min.insync.replicas", topic.min_insync_replicas))
    evidence = ", ".join(f"{name} {'unknown' if value is None else value}" for name, value in told)
    unclean = "unknown" if topic.unclean is None else str(topic.unclean).lower()
    level: Level = "warn" if what == "unclean.leader.election.enable" else "notice"
    return Finding(f"{topic.topic} {what}", level, sentence, f"{evidence}, unclean election {unclean}.", ADVICE[what], href, place)


def producers(facts: Facts) -> Outcome:
    online = facts.online
    untold = sum(broker.produce_by_acks is None for broker in online)
    seen = sum((Counter(broker.produce_by_acks or {}) for broker in online), Counter[str]())
    found = [
        Finding(
            f"acks={acks}",
            "notice",
            sentence,
            "Brokers count requests, not who sent them.",
            "Set acks=all in the producers.",
            "/brokers",
            "brokers",
        )
        for acks, sentence in no_loss.weak_acks(seen).items()
    ]
    why = f"{counted(untold, 'broker')} {'does' if untold == 1 else 'do'} not tell with which acks producers write" if untold else ""
    return Outcome(found, why or ("" if online else "no broker that runs is known"))
