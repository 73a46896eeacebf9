"""What is otherwise at a later moment than at an earlier one, as sentences. Pure.

States are compared (who leads, who is in sync, what came and went), not figures, but for a group's lag and a topic's growth. A topic that
came or went is told once, not with each of its partitions, and partitions that changed alike are told together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from broker_core.contract.groups import Group
from broker_core.contract.live import Broker, Cluster, FolderState
from broker_core.contract.moments import Change, Difference, Differences
from broker_core.contract.partitions import Partition, Topic
from broker_core.contract.sentences import Level, Piece
from console.rules.pieces import link, said, text_of
from console.rules.settings.kept import changed, sentences
from console.rules.states import STATES
from console.rules.words import counted, whole
from console.snapshot.encoding import decode
from console.snapshot.kinds import KINDS, kind_of

ROWS_LIMIT = 500
ALONE = 5
"""More partitions than so many that changed alike are one sentence, which has the names of the first."""
NAMED = 3
SETTINGS_MOST = 20
"""Of one topic or broker that are told one by one."""
GRAVITY: dict[str, int] = {"bad": 0, "warn": 1, "notice": 2, "ok": 3, "unknown": 4}
ORDER = ("cluster", "broker", "topic", "partition", "group")
T = TypeVar("T")


class Pair(NamedTuple):
    """A thing before and after; None where it was or is not there."""

    name: str
    before: Any
    after: Any


def differences(before: Mapping[str, bytes], after: Mapping[str, bytes], from_ms: int, to_ms: int) -> Differences:
    """Of two states that were recorded at these times."""
    rows = sorted(_rows(before, after), key=lambda row: (GRAVITY[row.level], ORDER.index(row.kind), row.name))
    return Differences(from_ms=from_ms, to_ms=to_ms, rows=tuple(rows[:ROWS_LIMIT]), more=max(len(rows) - ROWS_LIMIT, 0))


def _rows(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[Difference]:
    pairs = {kind: list(_pairs(kind, before, after)) for kind in ORDER}
    for kind, tell in TELL.items():
        for pair in pairs[kind]:
            yield from tell(pair)
    whole_topics = {pair.name for pair in pairs["topic"] if pair.before is None or pair.after is None}
    yield from _partitions([pair for pair in pairs["partition"] if pair.name.rpartition("/")[0] not in whole_topics])


def _pairs(kind: str, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[Pair]:
    """Those of a kind whose values are not byte for byte the same."""
    for key in [key for key in {**before, **after} if kind_of(key) == kind]:
        old, new = before.get(key), after.get(key)
        if old != new:
            yield Pair(key.partition("/")[2], decode(old, KINDS[kind]), decode(new, KINDS[kind]))


def _told(kind: Any, name: str, change: Change, level: Level, *pieces: Piece) -> Difference:
    return Difference(kind, name, change, level, text_of(pieces), pieces)


def _cluster(pair: Pair) -> Iterator[Difference]:
    old, new = pair.before, pair.after
    if not isinstance(old, Cluster) or not isinstance(new, Cluster):
        return
    if old.controller_id != new.controller_id:
        was, now = (f"broker {one}" if one is not None and one >= 0 else "nobody" for one in (old.controller_id, new.controller_id))
        yield _told("cluster", "", "changed", "notice", said(f"The controller was {was} and is {now} (epoch {new.controller_epoch})."))


def _broker(pair: Pair) -> Iterator[Difference]:
    old, new = pair.before, pair.after
    name = link(f"Broker {pair.name}", "brokers")
    if not isinstance(old, Broker) or not isinstance(new, Broker):
        change: Change = "came" if new else "went"
        yield _told("broker", pair.name, change, "ok" if new else "warn", name, said(" is new." if new else " is gone."))
        return
    for level, words in _broker_words(old, new):
        yield _told("broker", pair.name, "changed", level, name, said(words))


def _broker_words(old: Broker, new: Broker) -> Iterator[tuple[Level, str]]:
    if old.state != new.state:
        yield "bad" if new.state == "offline" else "ok", f" was {old.state} and is {new.state}."
    elif old.broker_epoch != new.broker_epoch:
        yield "notice", " has registered anew (it was restarted, or its session had expired)."
    own = list(sentences(old.own_settings, new.own_settings))
    yield from (("notice", f": {words}.") for words in own[:SETTINGS_MOST])
    if len(own) > SETTINGS_MOST:
        yield "notice", f": {counted(len(own) - SETTINGS_MOST, 'setting')} more changed."
    was, now = old.log_dir, new.log_dir
    if was is not None and now is not None and was.state != now.state:
        yield now.level, f": its data folder {_folder(was.state, 'was')}, and {_folder(now.state, 'is')} now."


def _folder(state: FolderState, verb: str) -> str:
    words = STATES[state].words
    return f"{'served' if verb == 'was' else words}" if state == "folder_serves" else f"{verb} {words}"


def _topic(pair: Pair) -> Iterator[Difference]:
    old, new = pair.before, pair.after
    name = link(pair.name, f"topic/{pair.name}")
    if not isinstance(old, Topic) or not isinstance(new, Topic):
        size = f" ({counted((new or old).partitions or 0, 'partition')})" if new or old else ""
        if new is None:
            yield _told("topic", pair.name, "went", "warn", said(f"{pair.name} is deleted{size}."))
        else:
            yield _told("topic", pair.name, "came", "notice", name, said(f" is new{size}."))
        return
    for words in _topic_words(old, new):
        yield _told("topic", pair.name, "changed", "notice", name, said(words))


def _topic_words(old: Topic, new: Topic) -> Iterator[str]:
    if old.topic_id != new.topic_id and old.topic_id and new.topic_id:
        yield " was deleted and created anew."
    if old.partitions != new.partitions:
        yield f" had {counted(old.partitions or 0, 'partition')} and has {whole(new.partitions or 0)}."
    own = list(sentences(old.own_settings, new.own_settings))
    yield from (f": {words}." for words in own[:SETTINGS_MOST])
    if len(own) > SETTINGS_MOST:
        yield f": {counted(len(own) - SETTINGS_MOST, 'setting')} more changed."
    told = set(changed(old.own_settings, new.own_settings))
    if old.min_insync_replicas != new.min_insync_replicas and "min.insync.replicas" not in told:
        yield f": min.insync.replicas was {_or_unknown(old.min_insync_replicas)} and is {_or_unknown(new.min_insync_replicas)}."
    if old.unclean != new.unclean and "unclean.leader.election.enable" not in told:
        was, now = ("unknown" if one is None else "on" if one else "off" for one in (old.unclean, new.unclean))
        yield f": unclean leader election was {was} and is {now}."


def _or_unknown(value: object) -> object:
    return "unknown" if value is None else value


def _partitions(pairs: Iterable[Pair]) -> Iterator[Difference]:
    """Those that changed alike are told together where they are many."""
    alike: dict[tuple[Level, str], list[Partition]] = defaultdict(list)
    for _, old, new in pairs:
        if isinstance(old, Partition) and isinstance(new, Partition) and (words := "; ".join(_partition_words(old, new))):
            alike[_level(new), words].append(new)
    for (level, words), some in alike.items():
        if len(some) > ALONE:
            names = ", ".join(partition.name for partition in some[:NAMED])
            who = said(f"{counted(len(some), 'partition')} ({names}, …), each")
            yield _told("partition", some[0].name, "changed", level, who, said(f": {words}."))
            continue
        for partition in some:
            who = link(partition.name, f"topic/{partition.topic}")
            yield _told("partition", partition.name, "changed", level, who, said(f": {words}."))


def _level(partition: Partition) -> Level:
    level = STATES[partition.state].level
    return level if level in ("ok", "notice", "warn", "bad") else "unknown"


def _partition_words(old: Partition, new: Partition) -> Iterator[str]:
    if old.state != new.state:
        yield f"was {STATES[old.state].words} and is {STATES[new.state].words}"
    if old.leader != new.leader:
        yield f"was led by {_leader(old)} and is led by {_leader(new)}"
    for one, others, verb in ((old.isr, new.isr, "left"), (new.isr, old.isr, "joined")):
        if who := sorted(set(one) - set(others)):
            yield f"{'broker' if len(who) == 1 else 'brokers'} {_ids(who)} {verb} the ISR"
    if old.assignment != new.assignment:
        yield f"replicas were on {_ids(old.assignment)} and are on {_ids(new.assignment)}"
    if new.unclean and old.unclean != new.unclean:
        yield f"{_leader(new)} was elected unclean, acknowledged records may be lost"


def _leader(partition: Partition) -> str:
    return "nobody" if partition.leader is None else f"broker {partition.leader}"


def _ids(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, brokers)) or "none"


def _group(pair: Pair) -> Iterator[Difference]:
    old, new = pair.before, pair.after
    if not isinstance(old, Group) or not isinstance(new, Group):
        if new is None and old is not None:
            yield _told("group", pair.name, "went", "notice", said(f"Group {old.group} is gone."))
        elif new is not None:
            yield _told("group", pair.name, "came", "notice", said("Group "), link(new.group, f"group/{new.group}"), said(" is new."))
        return
    if words := "; ".join(_group_words(old, new)):
        level: Level = "warn" if new.attention == "warn" else "notice"
        yield _told("group", pair.name, "changed", level, said("Group "), link(new.group, f"group/{new.group}"), said(f": {words}."))


def _group_words(old: Group, new: Group) -> Iterator[str]:
    if old.state != new.state:
        yield f"was {old.state or 'of unknown state'} and is {new.state or 'of unknown state'}"
    if len(old.members) != len(new.members):
        yield f"had {counted(len(old.members), 'member')} and has {whole(len(new.members))}"
    if old.attention != new.attention or _far(old.lag, new.lag):
        yield f"lag was {_lag(old.lag)} and is {_lag(new.lag)}"


def _far(before: int | None, after: int | None) -> bool:
    """More than a tenth and a thousand records apart, or known on one side only."""
    if before is None or after is None:
        return before is not after
    return abs(after - before) > max(1_000, max(before, after) / 10)


def _lag(records: int | None) -> str:
    return "unknown" if records is None else counted(records, "record")


TELL: dict[str, Callable[[Pair], Iterator[Difference]]] = {"cluster": _cluster, "broker": _broker, "topic": _topic, "group": _group}
