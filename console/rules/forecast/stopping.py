"""What would be if a broker stopped or died now: the sentence, the counts, and the first few partitions of each kind (spec R5, spec R8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from broker_core.contract.live import Broker
from broker_core.contract.partitions import Partition
from broker_core.contract.sentences import Level
from console.rules.forecast.fates import Around, Becomes, Fate, How, fate_of
from console.rules.forecast.shares import Share, shares, traffic_words
from console.rules.words import counted, whole

NAMED = 20
"""Partitions that are told by name, of each kind."""
GONE = "Broker {} does not run, or has lost its data folder: what that does is in the states of its partitions already."
OLD = "All is as it was last known, and may be otherwise by now."


class Counts(Struct, frozen=True, kw_only=True):
    """`looked_at` of the `hosted` partitions were; `leaders_move` are those that somebody else would lead, in sync or not."""

    hosted: int
    looked_at: int
    without_leader: int
    unclean: int
    under_min_isr: int
    unknown: int
    leaders_move: int
    without_leader_now: int


class Stopped(Struct, frozen=True, kw_only=True):
    """What would be: how many partitions of each kind, the first few, and what the other brokers would have."""

    broker_id: int
    how: How
    counts: Counts
    leaderless: tuple[Fate, ...]
    unclean: tuple[Fate, ...]
    refusing: tuple[Fate, ...]
    unknown: tuple[Fate, ...]
    brokers: tuple[Share, ...]
    level: Level
    sentence: str
    traffic: str


class Forecast(Struct, frozen=True):
    """Every partition's fate, and what is said of all of them."""

    told: Stopped
    fates: tuple[Fate, ...]


def forecast(around: Around, hosted: int, partitions: Iterable[Partition], brokers: Iterable[Broker], *, is_old: bool = False) -> Forecast:
    """`hosted`: how many partitions it has, of which `partitions` are those that were read; `is_old`: what is known may be otherwise."""
    is_gone = around.broker_id not in around.serving and not is_old
    fates = () if is_gone else tuple(fate_of(row, around) for row in partitions)
    return Forecast(told(around, hosted, fates, list(brokers), is_old=is_old, is_gone=is_gone), fates)


def told(around: Around, hosted: int, fates: tuple[Fate, ...], brokers: list[Broker], *, is_old: bool, is_gone: bool) -> Stopped:
    broker_id = around.broker_id
    counts = _counts(broker_id, hosted, fates)
    verdict: tuple[Level, str] = ("notice", GONE.format(broker_id)) if is_gone else _verdict(around, counts, is_old=is_old)
    stopped = next((broker for broker in brokers if broker.broker_id == broker_id), None)
    gains = Counter(fate.leader_then for fate in fates if fate.leader_then is not None and fate.leader_then != fate.leader)
    others = [] if is_gone or stopped is None else [broker for broker in brokers if broker.broker_id in around.serving]
    return Stopped(
        broker_id=broker_id,
        how=around.how,
        counts=counts,
        leaderless=_first(fates, "offline"),
        unclean=_first(fates, "unclean"),
        refusing=_first(fates, "refuses"),
        unknown=_first(fates, "unknown"),
        brokers=shares(stopped, others, dict(gains)) if stopped is not None else (),
        level=verdict[0],
        sentence=verdict[1],
        traffic="" if is_gone or stopped is None else traffic_words(stopped, counts.leaders_move),
    )


def _counts(broker_id: int, hosted: int, fates: tuple[Fate, ...]) -> Counts:
    of = Counter(fate.becomes for fate in fates)
    return Counts(
        hosted=hosted,
        looked_at=len(fates),
        without_leader=of["offline"],
        unclean=of["unclean"],
        under_min_isr=of["refuses"] + sum(fate.becomes == "unclean" and bool(fate.refuses) for fate in fates),
        unknown=of["unknown"],
        leaders_move=sum(fate.leader == broker_id and fate.leader_then is not None for fate in fates),
        without_leader_now=sum(fate.becomes == "unchanged" and fate.leader is None for fate in fates),
    )


def _first(fates: Iterable[Fate], becomes: Becomes) -> tuple[Fate, ...]:
    return tuple([fate for fate in fates if fate.becomes == becomes][:NAMED])


def _verdict(around: Around, found: Counts, *, is_old: bool) -> tuple[Level, str]:
    moved = (
        f"{counted(found.leaders_move, 'leadership')} would move to other brokers." if found.leaders_move else "No leadership would move."
    )
    bad = [
        (found.without_leader, "would have no leader until it is back: nobody else who runs is in the ISR."),
        (found.unclean, "would be led by a replica that is not in sync, as the topic allows: acknowledged records may be lost."),
        (found.under_min_isr, "would refuse writes with acks=all: fewer than min.insync.replicas were left."),
    ]
    said = [f"{counted(number, 'partition')} {words}" for number, words in bad if number]
    said += _not_known(found, is_old=is_old)
    if found.without_leader or found.unclean or found.under_min_isr:
        return "warn" if not (found.without_leader or found.unclean) else "bad", " ".join([*said, moved])
    if said:
        return "unknown", " ".join([*said, moved])
    what = "stopped" if around.how == "shutdown" else "died"
    return "ok", f"Nothing would be lost or refused if broker {around.broker_id} {what} now. {moved}"


def _not_known(found: Counts, *, is_old: bool) -> list[str]:
    said = [OLD] if is_old else []
    if found.unknown:
        said.append(f"Of {counted(found.unknown, 'partition')} it is not known who is in sync, how many have to be, or who may lead.")
    if found.looked_at < found.hosted:
        said.append(f"Only the worst {whole(found.looked_at)} of {counted(found.hosted, 'partition')} were looked at.")
    return said
