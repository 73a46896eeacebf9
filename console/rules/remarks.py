"""What is said below a partition's replicas, beside the figures: what happened to it, what is wrong, and what can be done. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from broker_core.contract.partitions import Partition
from broker_core.contract.sentences import Piece
from console.rules.partitions import DELETING, OFFLINE, UNDER_MIN_ISR
from console.rules.pieces import said
from console.rules.words import counted, whole


def remarks(value: Partition) -> tuple[Piece, ...]:
    sentences = " ".join(_sentences(value))
    advice = value.advice.parts if value.advice else ()
    return (*((said(sentences + " " if advice else sentences),) if sentences else ()), *advice)


def _sentences(value: Partition) -> Iterator[str]:
    for replica in value.replicas:
        if cut := replica.truncated:
            yield f"Broker {replica.broker_id} cut its log from {whole(cut.from_)} to {whole(cut.to)} to match the leader."
    if unclean := value.unclean:
        who = "that led" if value.leader is None else value.leader
        yield (
            f"Broker {who} was elected unclean in epoch {whole(unclean.leader_epoch)}, not being in sync "
            f"(in sync: {_ids(unclean.in_sync)}): acknowledged records that it did not have are lost."
        )
    if value.claims:
        claims = ", ".join(f"{claim.broker_id} (epoch {claim.leader_epoch})" for claim in value.claims)
        yield f"Two brokers claim to lead: {claims}."
    if value.reassigning:
        yield f"Being moved: adding {_ids(value.reassigning.adding)}, removing {_ids(value.reassigning.removing)}."
    if value.last_stable_offset is not None and value.high_watermark is not None and value.last_stable_offset < value.high_watermark:
        held = counted(value.high_watermark - value.last_stable_offset, "record")
        yield (
            f"A transaction is open: who reads committed records only (read_committed) waits at {whole(value.last_stable_offset)}, "
            f"the last stable offset, {held} below the high watermark."
        )
    if value.state == DELETING:
        yield "Its topic is being deleted."
    elif value.state == OFFLINE:
        yield "No leader: nothing can be read or written."
    elif value.state == UNDER_MIN_ISR:
        yield f"Writes with acks=all are refused: {len(value.isr)} in sync, min.insync.replicas is {value.min_insync_replicas}."


def _ids(brokers: Sequence[int]) -> str:
    return ", ".join(map(str, brokers)) or "none"
