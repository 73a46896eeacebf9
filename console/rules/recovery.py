"""What brings a partition back that has no leader or refuses acks=all: who can lead it, the choices, what each costs. Pure.

Without a leader (spec R8, spec R9), first match wins:
1. Nobody knows who was in sync: start its brokers.
2. A replica that was in sync runs: the controller elects it, nothing is to be done.
3. Only those that were in sync can lead without loss: start them; one is enough. Or elect another one unclean, which loses what they
   alone had. Where the topic lets the controller do so by itself (`unclean.leader.election.enable`), who starts first leads.
Under min ISR (spec R5): bring back who is out; or lower `min.insync.replicas` to those that are in sync.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from broker_core.contract.partitions import Advice, Partition, Replica
from broker_core.contract.sentences import Piece
from console.rules.partitions import brokers
from console.rules.pieces import link, said, text_of
from console.rules.words import counted

MIN_ISR = "min.insync.replicas"
ELECT = "elect-unclean"


@dataclass(frozen=True, slots=True)
class Who:
    """Brokers that are there, those of them whose data folder is offline, and local processes `{id: running|paused|…}`."""

    alive: Collection[int]
    folder_offline: Collection[int] = ()
    processes: Mapping[int, str] | None = None


def can_lead(isr: Sequence[int], assignment: Sequence[int]) -> list[int]:
    """Who has every committed record, in the order of the assignment, which is the controller's."""
    return [b for b in assignment if b in isr]


def without_leader(value: Partition, who: Who, *, unclean: bool) -> Advice:
    """`unclean`: its topic lets the controller elect who was not in sync."""
    isr, assignment = value.isr, value.assignment
    leaders = can_lead(isr, assignment)
    serves = [b for b in assignment if b in who.alive and b not in who.folder_offline]
    candidates = [b for b in serves if b not in isr]
    lost = records_lost(value.replicas, leaders, candidates[0] if candidates else None)
    if not leaders:
        return _advice([said("It is not known who was in sync: "), *_choices(_back(assignment, who)), said(".")], leaders, candidates, lost)
    if ready := [b for b in leaders if b in serves]:
        then = "was in sync and runs: the controller elects it" if len(ready) == 1 else "were in sync and run: the controller elects one"
        return _advice([said(f"{_capital(brokers(ready))} {then}.")], leaders, candidates, lost)
    first = said(f"Only {brokers(leaders)} {'has' if len(leaders) == 1 else 'have'} all its committed records: ")
    ways = _back(leaders, who)
    had = f"what only {brokers(leaders)} had" + (f", at least {counted(lost, 'record')}" if lost else "")
    if candidates:
        ways.append([link(f"elect {brokers(candidates[:1])} unclean", f"topic/{value.topic}", ELECT), said(f" and lose {had}")])
    end = "."
    if not candidates and (others := [b for b in assignment if b not in isr]):
        if unclean:
            first_of = f"{'one of ' if len(others) > 1 else ''}{brokers(others)}"
            end = f". unclean.leader.election.enable is on: if {first_of} starts first, it leads and {had} is lost."
        else:
            end = f". If that cannot be, another copy ({brokers(others)}) can be started and elected unclean: {had} is then lost."
    return _advice([first, *_choices(ways), said(end)], leaders, candidates, lost)


def under_min_isr(value: Partition, who: Who) -> Advice:
    """The same for a partition that has a leader; `can_lead` are those in sync."""
    isr, assignment = value.isr, value.assignment
    out = [b for b in assignment if b not in isr]
    ways = _back(out, who)
    if behind := [b for b in out if b in who.alive and b not in who.folder_offline]:
        ways.append([said(f"wait until {brokers(behind)} {'has' if len(behind) == 1 else 'have'} caught up")])
    if isr:
        lower = link(f"lower {MIN_ISR} to {len(isr)}", f"topic/{value.topic}", f"s-{MIN_ISR}")
        ways.append([lower, said(f" (acks=all then means {counted(len(isr), 'copy', 'copies')})")])
    first, *rest = _choices(ways)
    return _advice([replace(first, text=_capital(first.text)), *rest, said(".")], can_lead(isr, assignment))


def _advice(parts: Sequence[Piece], leaders: Sequence[int], candidates: Sequence[int] = (), lost: int | None = None) -> Advice:
    return Advice(text=text_of(parts), parts=tuple(parts), can_lead=tuple(leaders), candidates=tuple(candidates), lost=lost)


def records_lost(replicas: Iterable[Replica], had: Collection[int], leader: int | None) -> int | None:
    """How many records those in sync had, as last seen, beyond the end of another replica's log; None where that is not known."""
    ends = {r.broker_id: r.log_end_offset for r in replicas}
    known = [end for b in had if (end := ends.get(b)) is not None]
    end = ends.get(leader) if leader is not None else None
    return max(known) - end if known and end is not None and max(known) > end else None


def _back(wanted: Sequence[int], who: Who) -> list[list[Piece]]:
    """What brings these back, one choice a broker; nothing for those that run and are sound."""
    ways: list[list[Piece]] = []
    for broker in wanted:
        if broker in who.folder_offline and broker in who.alive:
            ways.append([link(f"restart broker {broker}", "brokers", f"restart-{broker}"), said(" once its disk is sound")])
        elif broker not in who.alive:
            process = (who.processes or {}).get(broker)
            if process in ("running", "starting"):
                ways.append([said(f"wait until broker {broker}, whose process runs, is back")])
            else:
                verb = "resume" if process == "paused" else "start"
                ways.append([link(f"{verb} broker {broker}", "brokers", f"to-{verb}-{broker}")])
    return ways


def _choices(ways: Sequence[list[Piece]]) -> list[Piece]:
    """With `or` between."""
    joined: list[Piece] = []
    for number, way in enumerate(ways):
        joined += [*([said(", or ")] if number else []), *way]
    return joined


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
