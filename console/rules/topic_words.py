"""What a topic's page opens with: whether its records are in danger. Steady: only what is counted of its partitions is in it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from broker_core.contract.partitions import Deletion
from console.rules.verdict import capital, effects
from console.rules.words import counted, whole


def topic_sentence(counts: Mapping[str, int], deletion: Deletion | None) -> str:
    """`counts` are the topic's, as the cluster's are of all topics."""
    if deletion:
        return f"Topic {deletion.sentence}"
    wrong, total = [*effects(counts)[0], *_not_known(counts)], counts["partitions"]
    if wrong:
        return f"{capital('; '.join(wrong))}. It has {counted(total, 'partition')}."
    if not total:
        return "None of its partitions has been reported yet."
    return f"{'Its one partition is' if total == 1 else f'All {whole(total)} partitions are'} safe: every copy is in sync."


def _not_known(counts: Mapping[str, int]) -> Iterator[str]:
    if unknown := counts["unknown"]:
        who = "its leader is" if unknown == 1 else "their leaders are"
        yield f"of {counted(unknown, 'partition')} the state is unknown: {who} silent"
    if starting := counts["starting"]:
        yield f"{counted(starting, 'partition')} {'is' if starting == 1 else 'are'} starting"
