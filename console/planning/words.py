"""Why a partition moves so, and all of a plan, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from console.planning.load import Load
from console.planning.model import Goal, Plan, Standing
from console.rules.words import counted, size, whole


def why_of(now: Standing, then: Sequence[int], goal: Goal | None, load: Load) -> str:
    """One sentence for each broker that comes or goes, and one for a new preferred leader."""
    said = [f"{broker} goes: {_why_it_goes(broker, now, then, goal, load)}." for broker in now.replicas if broker not in then]
    staying = [broker for broker in then if broker in now.replicas]
    said += [f"{broker} comes{_why_it_comes(broker, staying, load)}." for broker in then if broker not in staying]
    if then and now.replicas and then[0] != now.replicas[0]:
        said.append(f"{then[0]} is preferred as leader instead of {now.replicas[0]}.")
    return " ".join(said)


def _why_it_goes(broker: int, now: Standing, then: Sequence[int], goal: Goal | None, load: Load) -> str:
    if goal and broker in goal.away:
        return "it is to be emptied"
    if goal and goal.to and broker not in goal.to:
        return "it is not one of those chosen"
    if not load.is_online(broker):
        return "it is offline"
    if broker not in now.isr:
        return "it is not in sync"
    if load.rack(broker) is not None and any(load.rack(other) == load.rack(broker) for other in then):
        return f"rack {load.rack(broker)} has another replica"
    return f"{counted(len(then), 'replica')} {'is' if len(then) == 1 else 'are'} wanted"


def _why_it_comes(broker: int, staying: Sequence[int], load: Load) -> str:
    rack = load.rack(broker)
    if rack is None:
        return ""
    return f" (rack {rack})" if any(load.rack(other) == rack for other in staying) else f" (rack {rack}, which had none that stays)"


def plan_words(plan: Plan) -> str:
    """All of it: how much moves, how many bytes, whom it comes to, and what is not reached."""
    return " ".join(filter(None, (_moving(plan), _copying(plan), _not_reached(plan))))


def _moving(plan: Plan) -> str:
    if not plan.moves:
        return "Nothing would change." if plan.skipped or plan.unmet else "Nothing would change: all is as it should be."
    rest = f", {whole(plan.unchanged)} {'is' if plan.unchanged == 1 else 'are'} as they should be" if plan.unchanged else ""
    return f"{counted(len(plan.moves), 'partition')} would change{rest}."


def _copying(plan: Plan) -> str:
    copied = sum(bool(move.adding) for move in plan.moves)
    if not plan.moves:
        return ""
    if not copied:
        return "No record has to be copied."
    amount = "how many bytes is not known" if plan.copy_bytes is None else f"{size(plan.copy_bytes)} in all"
    return f"{counted(copied, 'partition')} {'is' if copied == 1 else 'are'} copied to another broker, {amount}."


def _not_reached(plan: Plan) -> str:
    said = []
    if plan.skipped:
        one = plan.skipped[0]
        rest = "" if len(plan.skipped) == 1 else f", and {counted(len(plan.skipped) - 1, 'more partition')}"
        said.append(f"Left as it is: {one.topic}-{one.partition} ({one.why}){rest}.")
    if plan.left:
        said.append(f"Not looked at, as a job takes no more moves: {counted(plan.left, 'partition')}. Plan again when it is done.")
    if plan.unmet:
        more = f" And {counted(len(plan.unmet) - 1, 'more line')}." if len(plan.unmet) > 1 else ""
        said.append(f"Not reached: {plan.unmet[0].why}{more}")
    return " ".join(said)
