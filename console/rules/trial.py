"""What a test of a cluster's registration found, in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from broker_core.contract.sentences import Level
from console.rules.words import counted

Facts = tuple[str, str | None, int | None, dict[int, str]]
"""Version, the cluster's id, the controller's, and brokers with the address that they advertise."""


class TriedServer(Struct, frozen=True):
    server: str
    answers: bool
    sentence: str


class Trial(Struct, frozen=True, kw_only=True):
    """`ok` when the cluster can be used as it was asked; the level is `warn` where something of it is amiss."""

    ok: bool
    level: Level
    sentence: str
    servers: list[TriedServer]
    kafka_id: str | None
    versions: str | None
    controller_id: int | None
    brokers: dict[int, str]
    remarks: list[str]


def judged(servers: Sequence[str], met: Mapping[str, Facts], failed: Mapping[str, str], away: Sequence[int], known_id: str) -> Trial:
    """`failed` has words for each server that did not answer; `away` are brokers whose advertised address is not reached from here."""
    ids = sorted({kafka_id for _, kafka_id, _, _ in met.values() if kafka_id})
    brokers = {broker: address for *_, found in met.values() for broker, address in found.items()}
    remarks = [*_split(met), *_other(ids, known_id), *_failed(failed, met), *_away(brokers, away)]
    ok = bool(met) and len(ids) <= 1 and len(away) < max(len(brokers), 1)
    return Trial(
        ok=ok,
        level="bad" if not ok else "warn" if remarks else "ok",
        sentence=_sentence(ok, met, failed, brokers),
        servers=[TriedServer(server, server in met, _of_server(server, met, failed)) for server in servers],
        kafka_id=ids[0] if len(ids) == 1 else None,
        versions=_versions(met),
        controller_id=next((controller for _, _, controller, _ in met.values() if controller is not None), None),
        brokers=dict(sorted(brokers.items())),
        remarks=remarks,
    )


def _sentence(ok: bool, met: Mapping[str, Facts], failed: Mapping[str, str], brokers: Mapping[int, str]) -> str:
    if not met:
        return " ".join(_of_server(server, met, failed) for server in failed) or "No server is named."
    if not ok:
        return "This is not one cluster that can be used from here."
    answered = f"{len(met)} of {counted(len(met) + len(failed), 'bootstrap server')} {'answers' if len(met) == 1 else 'answer'}"
    return f"{answered}; the cluster has {counted(len(brokers), 'broker')} and speaks Kafka {_versions(met)}."


def _of_server(server: str, met: Mapping[str, Facts], failed: Mapping[str, str]) -> str:
    return f"{server} answers: Kafka {met[server][0]}." if server in met else f"{server} {failed[server]}."


def _versions(met: Mapping[str, Facts]) -> str | None:
    """`3.9`, or the oldest and the newest, as in the midst of an upgrade."""
    found = sorted({facts[0] for facts in met.values()}, key=lambda text: [int(part) for part in text.split(".") if part.isdigit()])
    return " to ".join(dict.fromkeys((found[0], found[-1]))) if found else None


def _split(met: Mapping[str, Facts]) -> list[str]:
    by_id: dict[str, list[str]] = {}
    for server, (_, kafka_id, _, _) in met.items():
        if kafka_id:
            by_id.setdefault(kafka_id, []).append(server)
    if len(by_id) < 2:
        return []
    of_each = "; ".join(f"{', '.join(servers)}: {kafka_id}" for kafka_id, servers in by_id.items())
    return [f"The servers belong to {len(by_id)} clusters ({of_each}): name those of one."]


def _other(ids: Sequence[str], known_id: str) -> list[str]:
    if not known_id or not ids or ids == [known_id]:
        return []
    return [f"This is another cluster than before: it calls itself {', '.join(ids)}, and was {known_id}."]


def _failed(failed: Mapping[str, str], met: Mapping[str, Facts]) -> list[str]:
    return [_of_server(server, met, failed) for server in failed] if met else []


def _away(brokers: Mapping[int, str], away: Sequence[int]) -> list[str]:
    """The commonest trap: the bootstrap server is reached and the addresses that it tells of are not."""
    return [
        f"Broker {broker} says that it is at {brokers[broker]}, which is not reached from here." for broker in away if broker in brokers
    ]
