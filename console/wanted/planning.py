"""What differs between the state that is wanted and the one that is there, and what mends it. Pure.

1. A topic that is wanted and not there is made.
2. A topic that is there has the settings that are named and no others of its own; those of a throttle are left alone, a move sets them.
3. More partitions are added; fewer cannot be: partitions are never taken away.
4. Another number of copies: each partition keeps its replicas in their order and gets, or loses, the last ones. New ones go where there
   are the fewest; the first, who leads by preference, is never dropped.
5. An assignment is taken as it stands.
6. A topic that nobody wants is told of, unless it is internal; it is never deleted by mending.
7. Brokers' default settings are like a topic's, where any are wanted.
8. Quotas of clients (quotas.py) are like topics, where any are wanted.

After its steps an object shows no drift but what is told to be impossible.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from console.rules.risks import MIN_ISR, config_risks, setting_risks
from console.rules.settings.changes import same
from console.rules.words import counted
from console.wanted import quotas
from console.wanted.model import BROKERS, Actual, ActualTopic, Assignment, Change, Drift, DriftState, Place, Steps, Wanted, WantedTopic

THROTTLES = frozenset(("leader.replication.throttled.replicas", "follower.replication.throttled.replicas"))
BROKER_THROTTLES = frozenset(("leader.replication.throttled.rate", "follower.replication.throttled.rate"))
MOVES_SHOWN = 20
UNWANTED = 3
"""The last part of a plan."""
NOWHERE = Place("", 0)


def plan(wanted: Wanted, actual: Actual) -> list[Drift]:
    """Every object that differs: what is wanted by name, then what nobody wants."""
    load = dict(actual.load)
    found = [drift for name in sorted(wanted.topics) if (drift := topic_drift(name, wanted.topics[name], actual.topics.get(name), load))]
    brokers = broker_drift(wanted, actual)
    others = sorted(name for name, topic in actual.topics.items() if name not in wanted.topics and not topic.internal)
    unwanted = [_unmanaged(name, actual.topics[name]) for name in others]
    limits = [] if wanted.quotas is None else list(quotas.drifts(wanted.quotas, actual.quotas))
    unlimited = [] if wanted.quotas is None else list(quotas.unwanted(wanted.quotas, actual.quotas))
    return [*found, *([brokers] if brokers else []), *limits, *unlimited, *unwanted]


def place_of(drift: Drift) -> tuple[int, str]:
    """Where the drift stands in the plan, whatever else is in it: what comes after it can be asked for when the cluster has changed."""
    if drift.state == "unmanaged":
        return UNWANTED, drift.object
    return (1 if drift.object == BROKERS else 2 if drift.object.startswith(quotas.OBJECT) else 0), drift.object


def topic_drift(name: str, wanted: WantedTopic, actual: ActualTopic | None, load: dict[int, int]) -> Drift | None:
    """`load` is counted on as replicas are placed."""
    if actual is None:
        return _missing(name, wanted, load)
    configs = config_changes(wanted.configs, actual.configs, THROTTLES)
    impossible = list(_impossible(name, wanted, actual, load))
    grown = _grown(wanted, actual, load)
    moves = {} if _too_wide(wanted, load) else _moves(wanted, actual, load)
    grow_to = wanted.size if grown is not None else None
    made = _as_wide_as_there(grown or (), actual, load)
    moves |= {number: to for number, (to, now) in enumerate(zip(grown or (), made, strict=True), len(actual.assignment)) if to != now}
    steps = Steps(configs=configs, grow_to=grow_to, grown=made or None, moves=moves)
    if not steps and not impossible:
        return None
    changes = [*_config_rows(configs, actual.configs), *_size_rows(grow_to, actual), *_move_rows(moves, actual)]
    risks = [*config_risks(name, configs, actual.configs), *_own_risks(name, configs, wanted, actual), *_thinner(name, moves, actual)]
    sentence = f"Topic {name} differs: {_listed(changes, impossible)}."
    state: DriftState = "differs" if steps else "impossible"
    return Drift(f"topic/{name}", state, sentence, str(wanted.place), changes, risks, impossible, _seen(wanted, actual), steps)


def broker_drift(wanted: Wanted, actual: Actual) -> Drift | None:
    if wanted.broker_configs is None:
        return None
    configs = config_changes(wanted.broker_configs, actual.broker_configs, BROKER_THROTTLES)
    if not configs:
        return None
    changes = list(_config_rows(configs, actual.broker_configs))
    renamed = {key.removeprefix("log."): value for key, value in configs.items()}
    before = {key.removeprefix("log."): value for key, value in actual.broker_configs.items()}
    risks = config_risks("all topics without a setting of their own", renamed, before)
    sentence = f"The brokers' defaults differ: {_listed(changes, [])}."
    seen = _seen(wanted.broker_configs, actual.broker_configs)
    return Drift(BROKERS, "differs", sentence, None, changes, risks, [], seen, Steps(configs=configs))


def _seen(wanted: object, actual: object) -> str:
    """The same for the same wish and the same state, wherever the file says it."""
    wish = replace(wanted, place=NOWHERE) if isinstance(wanted, WantedTopic) else wanted
    return hashlib.sha256(msgspec.json.encode([wish, actual], order="deterministic")).hexdigest()[:32]


# --- what is missing, what nobody wants


def _missing(name: str, wanted: WantedTopic, load: dict[int, int]) -> Drift:
    changes = [Change("topic", None, name), Change("partitions", None, wanted.size), Change("replicas of each", None, _copies(wanted))]
    changes += [Change(key, None, value) for key, value in wanted.configs.items()]
    impossible = list(_absent(name, wanted, load))
    risks = setting_risks(name, wanted.configs, wanted.replication_factor)
    sentence = f"Topic {name} is not there."
    steps = Steps() if impossible else Steps(create=True)
    state: DriftState = "impossible" if impossible else "missing"
    return Drift(f"topic/{name}", state, sentence, str(wanted.place), changes, risks, impossible, _seen(wanted, None), steps)


def _copies(wanted: WantedTopic) -> int | None:
    return wanted.replication_factor if wanted.assignment is None else len(wanted.assignment[0])


def _unmanaged(name: str, topic: ActualTopic) -> Drift:
    words = f"Topic {name} is there ({counted(len(topic.assignment), 'partition')}), and nobody wants it."
    return Drift(f"topic/{name}", "unmanaged", words, None, [], [], [], _seen(None, topic))


# --- settings


def config_changes(wanted: Mapping[str, str], own: Mapping[str, str], kept: frozenset[str]) -> dict[str, str | None]:
    """What to set, and (None) what to take away; those `kept` stay as they are unless they are wanted."""
    sets: dict[str, str | None] = {key: value for key, value in wanted.items() if key not in own or not same(own[key], value)}
    return sets | {key: None for key in own if key not in wanted and key not in kept}


def _config_rows(changes: Mapping[str, str | None], own: Mapping[str, str]) -> Iterator[Change]:
    return (Change(key, own.get(key), value) for key, value in changes.items())


def _own_risks(name: str, changes: Mapping[str, str | None], wanted: WantedTopic, actual: ActualTopic) -> list[str]:
    copies = wanted.replication_factor or min((len(replicas) for replicas in wanted.assignment or actual.assignment), default=None)
    return setting_risks(name, changes, copies if MIN_ISR in changes else None)


# --- partitions and replicas


def _impossible(name: str, wanted: WantedTopic, actual: ActualTopic, load: Mapping[int, int]) -> Iterator[str]:
    if wanted.size is not None and wanted.size < len(actual.assignment):
        yield f"{name} has {counted(len(actual.assignment), 'partition')}, {wanted.size} are wanted: partitions cannot be taken away."
    yield from _absent(name, wanted, load)


def _absent(name: str, wanted: WantedTopic, load: Mapping[int, int]) -> Iterator[str]:
    if wanted.assignment is None and _too_wide(wanted, load):
        copies = counted(wanted.replication_factor or 0, "copy", "copies")
        yield f"{name} wants {copies} of each partition: {counted(len(load), 'broker')} run."
    elif absent := sorted({broker for replicas in wanted.assignment or () for broker in replicas if broker not in load}):
        yield f"{name} wants replicas on broker {absent[0]}, which is not online."


def _too_wide(wanted: WantedTopic, load: Mapping[int, int]) -> bool:
    if wanted.assignment is not None:
        return any(broker not in load for replicas in wanted.assignment for broker in replicas)
    return (wanted.replication_factor or 0) > len(load)


def _grown(wanted: WantedTopic, actual: ActualTopic, load: dict[int, int]) -> Assignment | None:
    """What the new partitions are to have in the end. None where there are partitions enough; empty where the controller places the new
    ones, which get as many copies as there are."""
    now = len(actual.assignment)
    if wanted.size is None or wanted.size <= now or _too_wide(wanted, load):
        return None
    if wanted.assignment is not None:
        return wanted.assignment[now:]
    copies = wanted.replication_factor
    if copies is None or all(len(replicas) == copies for replicas in actual.assignment):
        return ()
    return tuple(_added((), copies, load) for _ in range(wanted.size - now))


def _as_wide_as_there(grown: Assignment, actual: ActualTopic, load: dict[int, int]) -> Assignment:
    """Kafka takes new partitions only with as many copies as the first one has; they get the others by a move."""
    copies = len(actual.assignment[0]) if actual.assignment else 0
    return tuple(to[:copies] if len(to) >= copies else _added(to, copies, load) for to in grown)


def _moves(wanted: WantedTopic, actual: ActualTopic, load: dict[int, int]) -> dict[int, tuple[int, ...]]:
    if wanted.assignment is not None:
        pairs = enumerate(zip(wanted.assignment, actual.assignment, strict=False))
        return {number: to for number, (to, now) in pairs if to != now}
    copies = wanted.replication_factor
    if copies is None:
        return {}
    return {
        number: now[:copies] if len(now) > copies else _added(now, copies, load)
        for number, now in enumerate(actual.assignment)
        if len(now) != copies
    }


def _added(now: tuple[int, ...], copies: int, load: dict[int, int]) -> tuple[int, ...]:
    """The replicas and as many more as are lacking, where there are the fewest; of brokers that are alike the lower id."""
    found = list(now)
    while len(found) < copies:
        free = [broker for broker in load if broker not in found]
        if not free:
            break
        broker = min(free, key=lambda one: (load[one], one))
        load[broker] += 1
        found.append(broker)
    return tuple(found)


def _size_rows(grow_to: int | None, actual: ActualTopic) -> list[Change]:
    return [] if grow_to is None else [Change("partitions", len(actual.assignment), grow_to)]


def _move_rows(moves: Mapping[int, tuple[int, ...]], actual: ActualTopic) -> Iterator[Change]:
    for number in sorted(moves)[:MOVES_SHOWN]:
        now = actual.assignment[number] if number < len(actual.assignment) else None
        yield Change(f"replicas of partition {number}", None if now is None else _ids(now), _ids(moves[number]))
    if len(moves) > MOVES_SHOWN:
        yield Change(f"replicas of {counted(len(moves) - MOVES_SHOWN, 'more partition')}", "…", "…")


def _ids(replicas: Sequence[int]) -> str:
    return ", ".join(map(str, replicas))


def _thinner(name: str, moves: Mapping[int, tuple[int, ...]], actual: ActualTopic) -> list[str]:
    pairs = [(moves[number], now) for number, now in enumerate(actual.assignment) if number in moves]
    fewer = [to for to, now in pairs if len(to) < len(now)]
    lost = [to for to, now in pairs if not set(to) & set(now)]
    risks = [f"{counted(len(fewer), 'partition')} of {name} would have fewer copies than now, and survive fewer losses."] if fewer else []
    if lost:
        risks.append(f"{counted(len(lost), 'partition')} of {name} would leave all brokers that they are on.")
    return risks


def _listed(changes: Sequence[Change], impossible: Sequence[str]) -> str:
    labels = [change.label for change in changes]
    shown = ", ".join(labels[:5]) + (f" and {len(labels) - 5} more" if len(labels) > 5 else "")
    return "; ".join(filter(None, [shown, "something that cannot be mended" if impossible else ""]))
