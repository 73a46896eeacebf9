"""What settings of a topic put at risk, in sentences; none where they are harmless. Pure.

1. `unclean.leader.election.enable=true`: acknowledged records can be lost.
2. `min.insync.replicas` above the number of copies: brokers take it for that number, which leaves no copy to lose.
"""

from __future__ import annotations

from collections.abc import Mapping

from workers.rules.words import counted

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
