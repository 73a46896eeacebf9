"""HW-007 to HW-009: how evenly leaders, replicas and bytes lie on the brokers that run (spec O3), and HW-011: on a topic's partitions.

A share is uneven from `imbalance.SKEW_NOTICE` away from an equal one on; a few replicas, or less than `BYTES_MIN`, trouble nobody.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from console.rules.imbalance import SKEW_NOTICE, short_of_leaders, skew
from console.rules.report.facts import Facts
from console.rules.report.finding import Finding, Outcome, topic_page
from console.rules.words import counted, size, whole

BYTES_MIN = 1 << 30
REPLICAS_MIN = 3
TIMES = 3.0
"""So many times the mean a partition of a topic is "far larger"."""
NO_BROKER = "no broker that runs is known"


def leaders(facts: Facts) -> Outcome:
    told = [b for b in facts.online if b.leaders is not None and b.preferred is not None]
    found = short_of_leaders({b.broker_id: b.leaders or 0 for b in told}, {b.broker_id: b.preferred or 0 for b in told})
    by_id = {b.broker_id: b for b in told}

    def finding(broker: int) -> Finding:
        led, wanted = by_id[broker].leaders or 0, by_id[broker].preferred or 0
        share = led / wanted
        words = f"It leads {whole(led)} of the {counted(wanted, 'partition')} that it is preferred for."
        advice = "Run a preferred leader election: no record is copied for it."
        sentence = f"Broker {broker} leads {'nothing' if not led else 'far fewer partitions than it is preferred for'}."
        return Finding(f"broker {broker}", "notice", sentence, words, advice, "/jobs/new/elect", "preferred election", 1 - share)

    return Outcome([finding(broker) for broker in found], _untold(facts, len(told), "leaders"))


def replicas(facts: Facts) -> Outcome:
    counts = {b.broker_id: b.replicas for b in facts.online if b.replicas is not None}
    return _uneven(facts, counts, "replicas", REPLICAS_MIN, lambda count: counted(count, "replica"))


def disk(facts: Facts) -> Outcome:
    counts = {b.broker_id: b.size_bytes for b in facts.online if b.size_bytes is not None and not b.unmeasured}
    return _uneven(facts, counts, "bytes", BYTES_MIN, size)


def _uneven(facts: Facts, counts: Mapping[int, int], what: str, least: int, said: Callable[[int], str]) -> Outcome:
    """Judged only where all that run tell: a share of what is half known is none."""
    if untold := _untold(facts, len(counts), what):
        return Outcome((), untold)
    mean = sum(counts.values()) / max(len(counts), 1)
    found = []
    for broker, count in sorted(counts.items()):
        away = skew(count, counts) or 0.0
        if abs(away) > SKEW_NOTICE and abs(count - mean) >= least:
            share = "more" if away > 0 else "fewer" if what == "replicas" else "less"
            sentence = f"Broker {broker} has far {share} {'replicas' if what == 'replicas' else 'on its disk'} than an equal share."
            evidence = f"{said(count)}, where an equal share is {said(round(mean))}."
            advice = "Let a balance be planned, look at its moves, and have them done under a throttle."
            found.append(Finding(f"broker {broker}", "notice", sentence, evidence, advice, "/jobs/move", "moves of partitions", abs(away)))
    return Outcome(found)


def _untold(facts: Facts, told: int, what: str) -> str:
    if not facts.online:
        return NO_BROKER
    missing = len(facts.online) - told
    return (
        f"{counted(missing, 'broker')} of {whole(len(facts.online))} {'does' if missing == 1 else 'do'} not tell all {what}"
        if missing
        else ""
    )


def partition_sizes(facts: Facts) -> Outcome:
    """HW-011. What the system made for itself is left out: `__consumer_offsets` is as uneven as groups are."""
    if facts.logs is None:
        return Outcome((), "nobody tells how large partitions are")
    sizes: dict[str, dict[int, int | None]] = defaultdict(dict)
    for row in facts.logs.rows:
        if not row.topic.startswith("__"):
            sizes[row.topic][row.partition] = row.size_bytes
    found: list[Finding] = []
    unknown = 0
    for topic, of_partitions in sorted(sizes.items()):
        known = {number: count for number, count in of_partitions.items() if count is not None}
        unknown += len(known) < len(of_partitions)
        found += _far_larger(topic, known) if len(known) == len(of_partitions) > 1 else ()
    why = f"sizes of partitions of {counted(unknown, 'topic')} are not told" if unknown else ""
    left = f"{counted(facts.logs.skipped, 'smaller topic')} not looked at" if facts.logs.skipped else ""
    return Outcome(found, why, left)


def _far_larger(topic: str, sizes: Mapping[int, int]) -> list[Finding]:
    mean = sum(sizes.values()) / len(sizes)
    found = []
    for number, count in sizes.items():
        if count >= BYTES_MIN and count > TIMES * mean:
            sentence = f"{topic}-{number} is far larger than the other partitions of {topic}."
            evidence = f"{size(count)}, where the {whole(len(sizes))} partitions of {topic} have {size(mean)} in the mean."
            advice = "Look which keys are written most: all records of a key lie in one partition, and one reader has all of them."
            found.append(
                Finding(f"{topic}-{number}", "notice", sentence, evidence, advice, topic_page(topic), f"topic {topic}", count / mean)
            )
    return found
