"""What settings of a topic put at risk, in sentences; none where they are harmless. Pure.

1. `unclean.leader.election.enable=true`: acknowledged records can be lost.
2. An unclean election: the same, for the partitions that have no leader now.
3. Less retention, or another cleaning: records that would have been kept are deleted.
4. `min.insync.replicas` above the number of copies: brokers take it for that number, which leaves no copy to lose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from broker_core.contract.partitions import Partition
from console.rules.partitions import brokers
from console.rules.words import counted

PARTITIONS_NAMED = 5
UNCLEAN, MIN_ISR = "unclean.leader.election.enable", "min.insync.replicas"
UNLIMITED = -1


def setting_risks(topic: str, changes: Mapping[str, str | None], copies: int | None) -> list[str]:
    """`changes` are those asked for (None: back to the default); `copies` the replicas of each partition, the fewest, None unknown."""
    risks = []
    if (changes.get(UNCLEAN) or "").strip().lower() == "true":
        risks.append(
            f"With {UNCLEAN}=true a replica that lacks records may lead {topic} when no other is alive: "
            "records that were acknowledged are then lost, and nobody is told which."
        )
    wanted = (changes.get(MIN_ISR) or "").strip()
    if copies is not None and wanted.isascii() and wanted.isdigit() and len(wanted) < 10 and int(wanted) > copies:
        risks.append(
            f"{topic} has {counted(copies, 'copy', 'copies')} of each partition: "
            f"{MIN_ISR}={int(wanted)} counts as {copies}, and with one broker of them away every write with acks=all is refused."
        )
    return risks


def config_risks(name: str, changes: Mapping[str, str | None], own: Mapping[str, str | None]) -> list[str]:
    """Changes after which records are deleted that would have been kept."""
    risks = []
    for key in ("retention.ms", "retention.bytes"):
        if key in changes and _keeps_less(own.get(key), changes[key]):
            risks.append(f"{key} of {name} gets smaller or the default: records that are older or more than that are deleted, for good.")
    if "cleanup.policy" in changes:
        before, after = own.get("cleanup.policy") or "delete", changes["cleanup.policy"] or "delete"
        if "delete" in after and "delete" not in before:
            risks.append(f"cleanup.policy of {name} gets delete: records older than the retention are deleted, the last of a key too.")
        if "compact" in after and "compact" not in before:
            risks.append(f"cleanup.policy of {name} gets compact: only the last record of each key is kept, and those without are refused.")
    return risks


def _keeps_less(before: str | None, after: str | None) -> bool:
    """Not known (a default) counts as more before, and as less after."""
    now, then = _limit(before), _limit(after)
    return then is not None and (now is None or then < now) if after is not None else now is not None


def _limit(text: str | None) -> float | None:
    """None where it is no number; unlimited is infinite."""
    try:
        number = int(text) if text is not None else None
    except ValueError:
        return None
    return float("inf") if number == UNLIMITED else number


def unclean_risks(topic: str, offline: Sequence[Partition]) -> list[str]:
    """`offline` are its partitions without a leader."""
    risks = [
        "A replica that was not in sync takes over each partition that has no leader. Acknowledged records that it does not have are lost "
        "for good: a replica that was in sync and comes back cuts its log to match."
    ]
    for value in offline[:PARTITIONS_NAMED]:
        if value.advice is None or not (candidates := value.advice.candidates):
            risks.append(f"{value.name}: no replica that could be elected runs.")
            continue
        lost, had = value.advice.lost, value.advice.can_lead
        many = "how many is not known" if lost is None else f"at least {counted(lost, 'record')}, as last seen"
        kept = f" Starting {brokers(had)} instead loses nothing." if len(had) == 1 else ""
        kept = f" Starting one of {brokers(had)} instead loses nothing." if len(had) > 1 else kept
        risks.append(f"{value.name}: {brokers(candidates[:1])} would lead; lost: {many}.{kept}")
    if more := len(offline) - PARTITIONS_NAMED:
        risks += [f"So it is with {counted(more, 'more partition')}."] if more > 0 else []
    return risks
