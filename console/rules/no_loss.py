"""The settings without which an acknowledged record can be lost (spec O2).

Rules for one topic:
1. replication factor ≥ 3.          2. 2 ≤ min.insync.replicas < replication factor.
3. unclean.leader.election.enable is false.
And for producers, as far as brokers tell: 4. none was seen with acks other than all.
"""

from __future__ import annotations

from collections.abc import Mapping


def topic_findings(topic: str, replication_factor: int | None, min_insync_replicas: int | None, unclean: bool | None) -> dict[str, str]:
    """By setting what keeps this topic from "no loss", as sentences; unknown settings are not judged."""
    found = {}
    if replication_factor is not None and replication_factor < 3:
        copies = "copy" if replication_factor == 1 else "copies"
        found["replicas"] = f"{topic}: {replication_factor} {copies} of each record, 3 wanted."
    if min_insync_replicas is not None and min_insync_replicas < 2:
        found["min.insync.replicas"] = (
            f"{topic}: min.insync.replicas is {min_insync_replicas}; with 2 an acknowledged record is on two brokers."
        )
    if _never_writable(replication_factor, min_insync_replicas):
        found["writable"] = (
            f"{topic}: min.insync.replicas {min_insync_replicas} of {replication_factor} replicas: one broker down stops all writes."
        )
    if unclean:
        found["unclean.leader.election.enable"] = f"{topic}: unclean.leader.election.enable is true: a replica that lacks records may lead."
    return found


def _never_writable(replication_factor: int | None, min_insync_replicas: int | None) -> bool:
    if replication_factor is None or min_insync_replicas is None:
        return False
    return replication_factor > 1 and min_insync_replicas >= replication_factor


def weak_acks(produce_by_acks: Mapping[str, int]) -> dict[str, str]:
    """By acks, of `{"0": n, "1": n, "-1": n}` requests seen by the brokers since they started.

    No count is said: it would make a new finding of the same one in each report.
    """
    weak = sorted(acks for acks, count in produce_by_acks.items() if acks in ("0", "1") and count)
    return {
        each: f"Producers have written with acks={each} since the brokers started: such a record can be lost with one broker."
        for each in weak
    }
