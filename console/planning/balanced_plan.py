"""A plan that balances: what `balance` finds, told as every other plan is.

Apart from `plan.py`, since NumPy and the solver behind it are loaded where somebody asks for a balance.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from console.errors import Invalid
from console.planning.balance import needs
from console.planning.balance.balancing import balanced
from console.planning.balance.model import Change
from console.planning.load import Load
from console.planning.model import Goal, Host, Move, Plan, Skipped, Standing
from console.planning.plan import check, told

FOR = {
    needs.FAILED: "its data folder there is offline",
    needs.EMPTIED: "the broker is to be emptied",
    needs.UNCHOSEN: "the broker is not one of those chosen",
    needs.FACTOR: "another number of replicas is wanted",
    "racks": "for a rack that had none",
    "capacity": "for a disk that would be too full",
    "replicas": "for evenly many replicas",
    "leaders": "for evenly many leaders",
    "disk": "for evenly full disks",
    "traffic": "for evenly much that is written",
}


def balanced_plan(standing: Iterable[Standing], hosts: Iterable[Host], goal: Goal, most: int) -> Plan:
    """At most so many moves: first what has to be in any case, then what copies the least. `Invalid` as for any plan."""
    rows, hosts = list(standing), list(hosts)
    check(goal, Load(hosts, rows))
    if goal.instead is not None:
        raise Invalid("instead", "A balance chooses by itself who takes the places of a broker that is emptied.")
    found = balanced(hosts, rows, goal)
    chosen = sorted(found.changes, key=_urgency)[:most]
    by_place = {(change.at.topic, change.at.partition): change for change in chosen}
    wanted = [(change.at, change.replicas) for change in sorted(chosen, key=lambda change: (change.at.topic, change.at.partition))]
    skipped = [Skipped(at.topic, at.partition, why) for at, why in found.left]
    plan = told(wanted, hosts, goal, skipped=skipped, left=len(found.changes) - len(chosen))
    return replace(
        plan,
        moves=tuple(_explained(move, by_place[move.topic, move.partition]) for move in plan.moves),
        unchanged=len(rows) - len(found.changes) - len(skipped),
        unmet=found.unmet,
        shares=found.shares,
    )


def _urgency(change: Change) -> tuple[bool, int, str, int]:
    at = change.at
    added = len(set(change.replicas) - set(at.replicas))
    return change.serves[0] not in needs.REASONS, (at.size_bytes or 0) * added, at.topic, at.partition


def _explained(move: Move, change: Change) -> Move:
    aims = " and ".join(FOR[aim] for aim in change.serves)
    said = []
    if move.removing:
        said.append(f"{_listed(move.removing)} {'goes' if len(move.removing) == 1 else 'go'}")
    if move.adding:
        said.append(f"{_listed(move.adding)} {'comes' if len(move.adding) == 1 else 'come'}")
    if not said:
        said.append(f"{move.replicas[0]} is preferred as leader instead of {move.before[0]}")
    return replace(move, why=f"{', '.join(said)}: {aims}.", serves=change.serves)


def _listed(brokers: Iterable[int]) -> str:
    return " and ".join(map(str, brokers))
