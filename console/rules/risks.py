"""What settings of a topic put at risk, in sentences; none where they are harmless. Pure.

1. `unclean.leader.election.enable=true`: acknowledged records can be lost.
2. An unclean election: the same, for the partitions that have no leader now.
3. `min.insync.replicas` above the number of copies: brokers take it for that number, which leaves no copy to lose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from broker_core.contract.partitions import Partition
from console.rules.partitions import brokers
from console.rules.words import counted

PARTITIONS_NAMED = 5
UNCLEAN, MIN_ISR = "unclean.leader.election.enable", "min.insync.replicas"


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
