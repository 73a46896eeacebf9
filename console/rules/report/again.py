"""HW-010 and HW-018: what happens again and again within a day: replicas that leave the ISR, controllers that move."""

from __future__ import annotations

from datetime import UTC, datetime

from broker_core.contract.sentences import Level
from console.rules.report.facts import SHORT_WATCH_MS, Facts, Happened, Shrinks
from console.rules.report.finding import Finding, Outcome, topic_page
from console.rules.words import counted, duration

TIMES_WARN = 3
MOVES_WARN, MOVES_BAD = 3, 10


def isr_flaps(facts: Facts) -> Outcome:
    known = facts.happened
    if (why := _unwatched(facts)) or known is None:
        return Outcome((), why)
    return Outcome([_flap(one, known) for one in known.shrinks if one.times >= TIMES_WARN])


def _flap(one: Shrinks, known: Happened) -> Finding:
    name = f"{one.topic}-{one.partition}"
    where = f"the ISR of {name}" if one.partition is not None else f"ISRs of {one.topic}" if one.topic else "the ISRs of many partitions"
    key = f"broker {one.broker} of {name}" if one.partition is not None else f"broker {one.broker} of {one.topic or 'many'}"
    advice = "Look at its disk, its pauses and the network; replica.lag.time.max.ms only hides that it cannot keep up."
    evidence = f"{counted(one.times, 'time')} since {_time(known.since_ms)}, last at {_time(one.last_ms)} UTC."
    page = (f"{topic_page(one.topic)}/{one.partition}", f"partition {name}") if one.partition is not None else None
    href, place = page or (f"/brokers/{one.broker}", f"broker {one.broker}")
    return Finding(key, "warn", f"Broker {one.broker} leaves {where} again and again.", evidence, advice, href, place, one.times)


def controller_churn(facts: Facts) -> Outcome:
    known = facts.happened
    if (why := _unwatched(facts)) or known is None or known.controller_moves < MOVES_WARN:
        return Outcome((), why)
    moves = known.controller_moves
    advice = "Look why controllers end: their pauses, their sessions with ZooKeeper. No leader can move while there is none."
    evidence = f"{counted(moves, 'move')} since {_time(known.since_ms)} UTC."
    level: Level = "bad" if moves >= MOVES_BAD else "warn"
    return Outcome(
        [Finding("controller", level, "The controller moves again and again.", evidence, advice, "/controller", "controller", moves)]
    )


def _unwatched(facts: Facts) -> str:
    if facts.happened is None:
        return "events are not kept of this cluster"
    watched_ms = facts.now_ms - facts.happened.since_ms
    return f"it has been watched for {duration(max(watched_ms, 0) / 1000)} only" if watched_ms < SHORT_WATCH_MS else ""


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%d %b %H:%M")
