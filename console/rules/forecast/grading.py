"""How a forecast came out, partition by partition, once the broker is gone.

What somebody else changed between the forecast and the look afterwards is told as changed, neither as right nor as wrong. First match wins:

1. nothing was foretold, since it was not known;
2. the partition is gone, has other replicas, or was found otherwise when the broker was killed: the forecast rested on something else;
3. leader and ISR are as foretold: right;
4. another of its replicas' brokers came or went meanwhile, or had gone before and the controller was still at that; or the killed
   broker itself came into the ISR before it was gone;
5. more elections took place than a death needs: somebody asked for another, or the brokers were balanced;
6. leaders have others join the ISR and leave it by themselves: one that joined before the election leads, being the first of the
   replicas that were in sync then; or the leader is as foretold, and only others that run joined or left;
7. otherwise it is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from msgspec import Struct

from broker_core.contract.live import Count
from broker_core.contract.sentences import Level
from console.rules.forecast.fates import Fate
from console.rules.words import counted, whole

Came = Literal["right", "wrong", "changed", "unknown"]
EPOCHS_OF_A_DEATH = 2
"""An election, and the ISR that the broker leaves: a controller that takes the office up writes them one after the other."""


class Seen(Struct, frozen=True, gc=False):
    """A partition as the cluster told it; `leader` is None where nobody leads. `version` counts all writes of its state, where it is told:
    those that are no elections are changes of the ISR, and without one nobody joined or left by itself."""

    leader: int | None
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    leader_epoch: Count = None
    version: Count = None


class Grade(Struct, frozen=True, gc=False):
    """`why` says what differs, and where it is known what for; empty where it is right."""

    topic: str
    partition: int
    came: Came
    why: str = ""


class Around(Struct, frozen=True):
    """Who ran when it was foretold, and who when it was looked at again; the killed broker is in neither."""

    broker_id: int
    ran: frozenset[int]
    runs: frozenset[int]


def grade(fate: Fate, at_kill: Seen | None, after: Seen | None, around: Around) -> Grade:
    if fate.becomes == "unknown" and fate.leader_then is None:
        return _came(fate, "unknown", f"Nothing was foretold: {fate.why}.")
    if why := _rests_on_something_else(fate, at_kill, after):
        return _came(fate, "changed", why)
    assert after is not None and at_kill is not None
    if after.leader == fate.leader_then and set(after.isr) == set(fate.isr_then):
        return _came(fate, "right")
    if why := _changed_by_others(fate, at_kill, after, around):
        return _came(fate, "changed", why)
    return _came(fate, "wrong", f"Foretold were {said(fate.leader_then, fate.isr_then)}; found were {said(after.leader, after.isr)}.")


def _came(fate: Fate, came: Came, why: str = "") -> Grade:
    return Grade(fate.topic, fate.partition, came, why)


def _rests_on_something_else(fate: Fate, at_kill: Seen | None, after: Seen | None) -> str:
    if at_kill is None or after is None:
        return "The partition is not there any more."
    if set(at_kill.replicas) != set(after.replicas):
        return f"Its replicas were {_ids(at_kill.replicas)} and are {_ids(after.replicas)}: it is being moved."
    if (at_kill.leader, set(at_kill.isr)) != (fate.leader, set(fate.isr)):
        was, foretold = said(at_kill.leader, at_kill.isr), said(fate.leader, fate.isr)
        return f"When the broker was killed there were {was}; the forecast was made of {foretold}."
    return ""


def _changed_by_others(fate: Fate, at_kill: Seen, after: Seen, around: Around) -> str:
    came, went = around.runs - around.ran, around.ran - around.runs
    if some := sorted((came | went) & set(at_kill.replicas)):
        return f"Of its replicas' brokers {_ids(some)} came or went meanwhile."
    if around.broker_id in set(after.isr) - set(at_kill.isr):
        return f"Broker {around.broker_id} came into the ISR before it was gone: foretold was {_ids(fate.isr_then)}, it was not in it."
    still_in = sorted(set(at_kill.isr) - around.ran - {around.broker_id}) if around.broker_id in at_kill.isr else []
    if still_in:
        return f"When the broker was killed, {_ids(still_in)} did not run and had not been taken out of the ISR yet."
    elections = None if after.leader_epoch is None or at_kill.leader_epoch is None else after.leader_epoch - at_kill.leader_epoch
    if elections is not None and elections > EPOCHS_OF_A_DEATH:
        return f"{counted(elections, 'change')} of its leadership took place; a death makes at most {EPOCHS_OF_A_DEATH}."
    return "" if _isr_stood_still(at_kill, after) else _changed_by_leaders(fate, at_kill, after, around)


def _isr_stood_still(at_kill: Seen, after: Seen) -> bool:
    if None in (at_kill.version, after.version, at_kill.leader_epoch, after.leader_epoch):
        return False
    return (after.version or 0) - (at_kill.version or 0) <= (after.leader_epoch or 0) - (at_kill.leader_epoch or 0)


def _changed_by_leaders(fate: Fate, at_kill: Seen, after: Seen, around: Around) -> str:
    differs = set(after.isr) ^ set(fate.isr_then)
    if after.leader == fate.leader_then and after.leader is not None and around.broker_id not in differs and differs <= around.runs:
        return f"Its leader has changed the ISR since: foretold was {_ids(fate.isr_then)}, found was {_ids(after.isr)}."
    if after.leader is None or after.leader in at_kill.isr:
        return ""
    electable = [b for b in at_kill.replicas if b in around.runs and (b in at_kill.isr or b == after.leader)]
    if electable[:1] != [after.leader]:
        return ""
    foretold, found = said(fate.leader_then, fate.isr_then), said(after.leader, after.isr)
    return f"Broker {after.leader} was out of the ISR and came in before the election: foretold were {foretold}, found were {found}."


def said(leader: int | None, isr: Collection[int]) -> str:
    return f"{'no leader' if leader is None else f'leader {leader}'} and the ISR {_ids(isr)}"


def _ids(brokers: Collection[int]) -> str:
    return ", ".join(map(str, sorted(brokers))) or "nobody"


def verdict(broker_id: int, grades: Sequence[Grade]) -> tuple[Level, str]:
    """How all of it came out, in a sentence."""
    of = Counter(one.came for one in grades)
    judged = of["right"] + of["wrong"]
    if not grades:
        return "notice", f"Broker {broker_id} had no partition: nothing was foretold."
    parts = (
        [f"The forecast was right for {whole(of['right'])} of {counted(judged, 'partition')}"]
        if judged
        else ["No partition could be judged"]
    )
    if of["changed"]:
        parts.append(f"{counted(of['changed'], 'partition')} changed in between and {'is' if of['changed'] == 1 else 'are'} not counted")
    if of["unknown"]:
        parts.append(f"of {counted(of['unknown'], 'partition')} nothing was foretold")
    level: Level = "bad" if of["wrong"] else "ok" if of["right"] else "unknown"
    return level, "; ".join(parts) + "."


def worst_first(grades: Iterable[Grade]) -> list[Grade]:
    order = ("wrong", "changed", "unknown", "right")
    return sorted(grades, key=lambda one: (order.index(one.came), one.topic, one.partition))
