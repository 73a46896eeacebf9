"""HW-020: clients whose requests Kafka 4.0 takes no more (KIP-896), of the last day."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from broker_core.contract.feed import OldRequests
from console.rules.report.facts import Facts
from console.rules.report.finding import Finding, Outcome
from console.rules.words import counted

WITHIN_MS = 24 * 3_600_000
VERSIONS_SHOWN = 5
Client = tuple[str, str, str]
"""Software, its version, client id."""


def old_clients(facts: Facts) -> Outcome:
    untold = sum(broker.old_requests is None for broker in facts.online)
    by_client: dict[Client, list[OldRequests]] = {}
    for broker in facts.online:
        for row in broker.old_requests or ():
            if facts.now_ms - row.last_ms < WITHIN_MS:
                by_client.setdefault((row.software, row.software_version, row.client_id), []).append(row)
    why = f"{counted(untold, 'broker')} {'does' if untold == 1 else 'do'} not tell which versions its clients speak" if untold else ""
    found = [_finding(client, rows) for client, rows in sorted(by_client.items())]
    return Outcome(found, why or ("" if facts.online else "no broker that runs is known"))


def _finding(client: Client, rows: list[OldRequests]) -> Finding:
    software, version, client_id = client
    known = "" if software == "unknown" else f" ({software} {version})"
    name = f"The client {client_id!r}{known}" if client_id else f"A client without an id{known}"
    last = max(rows, key=lambda row: row.last_ms)
    at = datetime.fromtimestamp(last.last_ms / 1000, UTC).strftime("%d %b %H:%M:%S")
    requests = counted(sum(row.count for row in rows), "request")
    return Finding(
        f"client {client_id} {software} {version}",
        "notice",
        f"{name} speaks versions that Kafka 4.0 takes no more.",
        f"{_spoken(rows)}: {requests} since the brokers began, the last on {at} UTC from {last.host}.",
        "Update it before brokers of Kafka 4.0 come into the cluster.",
        "/brokers",
        "brokers",
    )


def _spoken(rows: Iterable[OldRequests]) -> str:
    spoken = sorted({f"{row.api} v{row.api_version}" for row in rows})
    more = len(spoken) - VERSIONS_SHOWN
    return ", ".join(spoken[:VERSIONS_SHOWN]) + (f" and {more} more" if more > 0 else "")
