"""What a schedule may ask for: kinds of jobs that need nobody beside them, and their parameters as a schedule keeps them.

They are those of the job itself, but for moves: which replicas go where is planned when the time has come, so a schedule keeps the goal and
how much of it may be done at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import Field, ValidationError

from console.errors import Invalid
from console.jobs.analytics import Analytics
from console.jobs.election import Election
from console.jobs.health import Health
from console.jobs.kind import Id, JobKind, Name, Parameters
from console.jobs.reassignment import ASSIGNMENTS_LIMIT, Reassignment, Throttle, checked_throttle
from console.planning.model import AIMS, Aim, Goal
from console.rules.move_window import AT_ONCE_MOST
from console.rules.words import counted, size, whole

ELECTION, REPORT, ANALYSIS, MOVES = Election.name, Health.name, Analytics.name, Reassignment.name
KINDS: dict[str, JobKind] = {kind.name: kind for kind in (Election(), Health(), Analytics(), Reassignment())}
NAMES_SHOWN = 3


class ScheduledGoal(Parameters):
    """What a plan is made for when the time has come, as at `…/plans`."""

    to: list[Id] = Field(default_factory=list, max_length=1_000, description="Brokers: replicas only on these")
    replication_factor: Annotated[int, Field(strict=True, ge=1, le=100, description="So many replicas of each")] | None = None
    away: list[Id] = Field(default_factory=list, max_length=1_000, description="Brokers to be emptied")
    instead: Annotated[Id | None, Field(description="The broker that takes their places")] = None
    leaders: Annotated[bool, Field(strict=True, description="Spread the preferred leaders evenly")] = False
    balance: list[Aim] = Field(default_factory=list, max_length=6, description="Balance the brokers by these")

    def goal(self) -> Goal:
        return Goal(
            to=tuple(self.to),
            replication_factor=self.replication_factor,
            away=tuple(self.away),
            instead=self.instead,
            leaders=self.leaders,
            aims=tuple(aim for aim in AIMS if aim in self.balance),
        )


class ScheduledParameters(Parameters):
    """Those of all kinds; which of them are a kind's own is asked later."""

    topics: list[Name] | None = Field(default=None, max_length=1_000, description="Of an election or a reassignment; left out: all")
    broker: Annotated[Id | None, Field(description="Of an election: only what this broker is preferred for")] = None
    goal: ScheduledGoal | None = None
    throttle: Throttle = None
    at_once: Annotated[
        int | None, Field(strict=True, ge=1, le=AT_ONCE_MOST, description="Partitions that a broker copies at a time, of a reassignment")
    ] = None
    moves_max: Annotated[
        int | None, Field(strict=True, ge=1, le=ASSIGNMENTS_LIMIT, description="So many partitions are moved at most, of a reassignment")
    ] = None
    copy_bytes_max: Annotated[
        int | None, Field(strict=True, ge=0, lt=2**63, description="A plan that copies more is not begun, of a reassignment")
    ] = None


OWN = {
    ELECTION: ("topics", "broker"),
    REPORT: (),
    ANALYSIS: (),
    MOVES: ("topics", "goal", "throttle", "at_once", "moves_max", "copy_bytes_max"),
}


def kind_of(name: str) -> JobKind:
    if name not in KINDS:
        raise Invalid("kind", f"A schedule begins one of {', '.join(KINDS)}.")
    return KINDS[name]


def checked(name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Of one kind, as they are kept; `Invalid` names the field that is wrong."""
    kind = kind_of(name)
    given = {field: value for field, value in params.items() if value is not None}
    for field in sorted(given.keys() - set(OWN[name])):
        raise Invalid(field, f"A schedule of kind {name} takes no {field}.")
    try:
        found = ScheduledParameters.model_validate(given).model_dump(exclude_unset=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise Invalid(".".join(map(str, first["loc"])), f"{first['loc'][-1]}: {first['msg']}") from None
    if name != MOVES:
        return kind.checked(found)
    checked_throttle(found.get("throttle"))
    if not found.get("topics"):
        found.pop("topics", None)
    goal = found["goal"] = {field: value for field, value in (found.get("goal") or {}).items() if value not in (None, [], False)}
    _refuse_goal(goal_of(found), bool(found.get("topics")))
    return found | {"goal": goal}


def _refuse_goal(goal: Goal, names_topics: bool) -> None:
    """What can be told of a goal without the cluster; the planner tells the rest when the time has come."""
    if not (goal.to or goal.away or goal.leaders or goal.replication_factor or goal.aims):
        raise Invalid("goal", "Say what is wanted: brokers to move to, a broker to empty, how many replicas, leaders spread, or a balance.")
    if (goal.to or goal.replication_factor) and not (names_topics or goal.aims):
        raise Invalid("topics", "Name the topics: nobody moves all of a cluster by an omission.")
    if goal.instead is not None and (not goal.away or goal.aims):
        raise Invalid("goal.instead", "A broker takes the place of one that is emptied, and not in a balance.")
    if both := {*goal.to, *(() if goal.instead is None else (goal.instead,))} & set(goal.away):
        raise Invalid("goal.away", f"Broker {min(both)} cannot be emptied and be moved to.")


def goal_of(params: Mapping[str, Any]) -> Goal:
    return ScheduledGoal.model_validate(params.get("goal") or {}).goal()


def told(name: str, params: Mapping[str, Any]) -> str:
    """What it does, in words: `Elect the preferred leaders of orders.`"""
    says: dict[str, Callable[[Mapping[str, Any]], str]] = {ELECTION: _election, MOVES: _moves}
    plain = {REPORT: "Write a health report.", ANALYSIS: "Analyse the samples with Spark."}
    return says[name](params) if name in says else plain.get(name, name)


def _names(params: Mapping[str, Any]) -> str:
    names = params.get("topics") or []
    rest = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {whole(rest)} more" if rest > 0 else "") if names else "all topics"


def _election(params: Mapping[str, Any]) -> str:
    broker = params.get("broker")
    if broker is not None:
        return f"Elect broker {broker} where it is the preferred leader."
    return f"Elect the preferred leaders of {_names(params)}."


def _pace(throttle: int | Mapping[str, int]) -> str:
    if isinstance(throttle, int):
        return f"at {size(throttle)}/s on each broker"
    return f"at {size(throttle['floor'])}/s to {size(throttle['ceiling'])}/s on each broker, steered"


class _Limit(NamedTuple):
    field: str
    words: Callable[[Any], str]


LIMITS = (
    _Limit("moves_max", lambda n: f"at most {counted(n, 'partition')} a time"),
    _Limit("copy_bytes_max", lambda n: f"nothing where more than {size(n)} would be copied"),
    _Limit("throttle", _pace),
    _Limit("at_once", lambda n: f"{counted(n, 'partition')} at once"),
)


def _moves(params: Mapping[str, Any]) -> str:
    limits = "".join(f"; {limit.words(params[limit.field])}" for limit in LIMITS if params.get(limit.field) is not None)
    return f"{_aim(goal_of(params), _names(params))}{limits}."


def _aim(goal: Goal, names: str) -> str:
    to, away = ", ".join(map(str, goal.to)), ", ".join(map(str, goal.away))
    said = []
    if goal.aims:
        said.append(f"balance the brokers over {names} by {', '.join(goal.aims)}")
    if goal.away:
        instead = "" if goal.instead is None else f" in favour of broker {goal.instead}"
        said.append(f"empty broker {away}{instead}" + ("" if names == "all topics" else f" of {names}"))
    if goal.replication_factor:
        said.append(f"give {names} {counted(goal.replication_factor, 'replica')} of each partition" + (f" on brokers {to}" if to else ""))
    elif goal.to and not goal.aims:
        said.append(f"move {names} to brokers {to}")
    if goal.leaders:
        said.append(f"spread the preferred leaders{'' if said else f' of {names}'}")
    text = " and ".join(said)
    return text[:1].upper() + text[1:]
