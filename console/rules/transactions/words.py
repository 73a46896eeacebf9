"""What is said of transactions: verdicts, and the risks of ending them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from broker_core.contract.sentences import Level
from console.rules.transactions.shown import HeldPlace, Kind, SeenProducer, Transaction, Unseen
from console.rules.transactions.told import ENDING, ONGOING, OPEN
from console.rules.words import counted, duration, whole

OVERDUE_SLACK_MS = 30_000
"""A coordinator looks for late transactions every 10 s, unless it is told otherwise; markers take their time."""
NEVER = "No transaction is in progress: there never was a transactional producer."
KINDS: dict[Kind, tuple[str, str]] = {
    "none": ("off", "none open"),
    "in_progress": ("ok", "in progress"),
    "ending": ("notice", "ending"),
    "hanging": ("bad", "hanging"),
    "orphaned": ("warn", "no coordinator has it"),
    "unknown": ("unknown", "not known"),
}
"""The level and the words of what a producer's transaction in a partition is found to be."""


LIMITED = "The console asks as a principal: of transactional ids that it may not describe it is told nothing, and they would look the same."
"""Said beside what rests on that no coordinator has a transaction, where the cluster asks who the console is."""


def span(ms: int) -> str:
    return duration(ms / 1000, 1)


# --- one transaction


def overdue_ms(state: str, age_ms: int | None, timeout_ms: int | None) -> int | None:
    """By how much it is past its time-out; None where it is not, or nobody knows."""
    if state not in OPEN or age_ms is None or timeout_ms is None or age_ms <= timeout_ms + OVERDUE_SLACK_MS:
        return None
    return age_ms - timeout_ms


def level_of(state: str, late_ms: int | None) -> Level:
    if late_ms is not None:
        return "warn"
    return "notice" if state in ENDING else "ok"


def late_words(state: str, late_ms: int | None) -> str:
    if late_ms is None:
        return ""
    what = "not aborted" if state == ONGOING else "not all partitions have its marker"
    return f"past its time-out by {span(late_ms)}, {what}"


def one_sentence(one: Transaction, places: Sequence[HeldPlace], now_ms: int) -> str:
    """What a transaction's page opens with."""
    if not one.is_open:
        return _over(one)
    late = overdue_ms(one.state, one.age_ms, one.timeout_ms)
    since = "" if one.age_ms is None else f" for {span(one.age_ms)}"
    in_it = counted(one.partitions or 0, "partition")
    if one.state in ENDING:
        how = {"PrepareCommit": "committed", "PrepareAbort": "aborted"}.get(one.state, "ended")
        stuck = _late(late, "Some leader does not take its marker.")
        return f"It is being {how}: its markers are on the way to {in_it}.{stuck}{_held(places)}"
    told = f"It has been in progress{since}, in {in_it}"
    if late is not None:
        return f"{told}.{_late(late, 'Its coordinator should have aborted it.')}{_held(places)}"
    left = "" if one.age_ms is None or one.timeout_ms is None else f"; unless it ends before, it is aborted after {span(one.timeout_ms)}"
    return f"{told}{left}.{_held(places)}"


def _over(one: Transaction) -> str:
    last = {
        "CompleteCommit": "The last one was committed.",
        "CompleteAbort": "The last one was aborted.",
        "Empty": "Its producer began none yet.",
    }
    gone = "It is about to be forgotten, as it was not used for long." if one.state == "Dead" else ""
    return f"No transaction is in progress. {last.get(one.state, gone)}".strip()


def _late(late_ms: int | None, so: str) -> str:
    return "" if late_ms is None else f" By this console's clock that is {span(late_ms)} past its time-out. {so}"


def _held(places: Sequence[HeldPlace]) -> str:
    """Where readers wait for it, and for how much."""
    held = [row for row in places if row.holds and row.held]
    if not held:
        return ""
    most = max(held, key=lambda row: row.held or 0)
    where = f"{most.topic}-{most.partition}"
    more = f", and in {counted(len(held) - 1, 'other partition')}" if len(held) > 1 else ""
    return f" Readers of committed transactions wait for it: for {counted(most.held or 0, 'offset')} of {where}{more}."


# --- all of them


def unseen_words(unseen: Iterable[Unseen]) -> str:
    """Of which coordinators nothing is known, and why."""
    said = []
    for one in unseen:
        what = f"{counted(len(one.partitions), 'partition')} of __transaction_state"
        if one.coordinator is None:
            said.append(f"nobody leads {what}")
        else:
            said.append(f"broker {one.coordinator}, which leads {what}, did not tell: {one.why.rstrip('.')}")
    return f"Not known is what is coordinated elsewhere: {'; '.join(said)}." if said else ""


def list_verdict(in_progress: int, open_rows: Sequence[Transaction], unseen: Sequence[Unseen], *, never: bool) -> tuple[Level, str]:
    """Of a list that leaves none out that is in progress; `open_rows` are those of them that were described."""
    if never and not unseen:
        return "ok", NEVER
    late = [row for row in open_rows if row.level == "warn"]
    aged = [row for row in open_rows if row.age_ms is not None]
    oldest = max(aged, key=lambda row: row.age_ms or 0, default=None)
    said = _in_progress(in_progress)
    if oldest is not None and len(aged) == in_progress:
        limit = "" if oldest.timeout_ms is None else f" of at most {span(oldest.timeout_ms)}"
        lasts = f"{'' if in_progress == 1 else 'the longest '}for {span(oldest.age_ms or 0)}{limit}"
        said = f"{said[:-1]}, {lasts}: {oldest.transactional_id[:80]}."
    if late:
        are = "is" if len(late) == 1 else "are"
        stuck = "the coordinator, or some partition's leader, is stuck"
        said = f"{said} {whole(len(late))} {are} past the time-out, by this console's clock: {stuck}."
    level: Level = "warn" if late else "ok"
    if unseen:
        return "warn", f"As far as is known, {said[0].lower()}{said[1:]} {unseen_words(unseen)}"
    return level, said


def _in_progress(count: int) -> str:
    if not count:
        return "No transaction is in progress."
    return f"{counted(count, 'transaction')} {'is' if count == 1 else 'are'} in progress."


def narrowed_verdict(total: int, unseen: Sequence[Unseen]) -> tuple[Level, str]:
    """Of a list that is filtered: of all nothing can be said by it."""
    said = f"{counted(total, 'transactional id')} {'is' if total == 1 else 'are'} so."
    return ("warn", f"{said} {unseen_words(unseen)}") if unseen else ("ok", said)


# --- a partition's producers


def waiting_words(held: int | None) -> str:
    if held is None:
        return "How far readers of committed transactions may read is not known: its leader did not tell."
    if not held:
        return "Readers of committed transactions read up to the high watermark."
    return f"Readers of committed transactions wait: the last stable offset is {counted(held, 'offset')} behind the high watermark."


def producers_verdict(held: int | None, shown: Sequence[SeenProducer], max_timeout_ms: int | None) -> tuple[Level, str]:
    """`shown` has the open transactions first, the one that holds the last stable offset before all."""
    said, opened = waiting_words(held), [one for one in shown if one.start_offset is not None and one.transaction != "none"]
    if not opened:
        return ("unknown" if held is None else "ok"), said
    kinds = {one.transaction for one in opened}
    first = opened[0]
    if "hanging" in kinds:
        hanging = next(one for one in opened if one.transaction == "hanging")
        limit = "" if max_timeout_ms is None else f" (a transaction lasts {span(max_timeout_ms)} at most)"
        which = f"The transaction of producer {whole(hanging.producer_id)} from offset {whole(hanging.start_offset or 0)} on"
        return "bad", f"{said} {which} hangs: no coordinator knows of it any more{limit}. It ends only if it is aborted by hand."
    if "orphaned" in kinds:
        one = next(row for row in opened if row.transaction == "orphaned")
        which = f"the transaction of producer {whole(one.producer_id)}"
        return "warn", f"{said} No coordinator knows of {which}: it will not end by itself. It is too young yet to be called hanging."
    if "unknown" in kinds:
        which = "its open transaction" if len(opened) == 1 else "all open transactions"
        return "warn", f"{said} Whether {which} will end is not known: not all coordinators told."
    who = first.transactional_id[:80] if first.transactional_id else f"producer {whole(first.producer_id)}"
    return "ok", f"{said} {who} is in a transaction here{'' if len(opened) == 1 else f', and {whole(len(opened) - 1)} more'}."


# --- searching, ending


def hanging_verdict(items: Sequence[SeenProducer], partitions: int, unanswered: int, max_timeout_ms: int) -> tuple[Level, str]:
    hanging, unsure = (sum(one.transaction in kinds for one in items) for kinds in (("hanging",), ("unknown",)))
    where = f"{counted(partitions, 'partition')} that {'was' if partitions == 1 else 'were'} looked at"
    said = f"No transaction hangs in the {where}."
    if hanging:
        said = f"{counted(hanging, 'transaction')} {'hangs' if hanging == 1 else 'hang'} in the {where}."
    if unsure:
        quiet = f"that nothing was written in for more than {span(max_timeout_ms)}"
        said += f" Of {whole(unsure)} {quiet} it is not known: not all coordinators told."
    if unanswered:
        said += f" {counted(unanswered, 'partition')} could not be looked at."
    return ("bad" if hanging else "warn" if unsure or unanswered else "ok"), said


def abort_risks(where: str, kind: Kind, name: str | None, held: int | None, *, limited: bool) -> list[str]:
    """What is at risk by an abort marker in one partition; `limited`: the cluster asks who the console is."""
    said = [f"What the transaction wrote to {where} is aborted there for good: readers of committed transactions never get it."]
    if kind in ("in_progress", "ending"):
        said.append(
            f"It does not hang: its coordinator has it, as {name}. It may still be committed in its other partitions, and then it is half "
            "done. To end it everywhere, take the transactional id from its producer instead."
        )
    elif kind == "orphaned":
        said.append("No coordinator knows of it, but it is younger than a transaction may become: look again before you end it.")
    elif kind == "unknown":
        said.append(
            "Whether it hangs is not known, as not all coordinators told: if one has it, it may be committed elsewhere, and is half done."
        )
    else:
        said.append("No coordinator knows of it: nothing else will end it.")
    if limited and kind in ("orphaned", "hanging"):
        said.append(LIMITED)
    if held:
        said.append(f"Readers wait for {counted(held, 'offset')} now.")
    return said


def termination_risks(name: str, is_open: bool, partitions: int) -> list[str]:
    gone = f"Its transaction is aborted in {counted(partitions, 'partition')}: what it wrote is never read as committed." if is_open else ""
    fenced = (
        f"The producer that has {name} now is fenced: if it still runs, its next request fails for good and it has to be started again."
    )
    return [line for line in (gone, fenced) if line]
