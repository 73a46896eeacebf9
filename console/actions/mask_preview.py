"""How a record looks to those of a role: hidden by the process that reads records, just as it hides what they search for."""

from __future__ import annotations

from typing import NamedTuple

from console.actions.audit import audited
from console.actions.masking import TOPICS, in_order, rule_of
from console.actions.records import WHOLE_CHARS, await_progress
from console.clock import now_ms
from console.errors import Conflict, Invalid
from console.gateway.errors import GatewayError
from console.models import Cluster, MaskRule
from console.queries import NotFound, topic_or_fail
from console.roles import ADMIN, ROLES, Actor
from console.rules.records.masking import Rule, covers
from console.rules.records.progress import Found, Search
from console.rules.records.query import Query
from console.rules.records.writing import Raw
from console.searches import store
from console.snapshot.read import Snapshot

WAIT_S = 8.0
PASTED_BYTES_MAX = 65_536


class Trial(NamedTuple):
    """A rule that is not kept yet; `instead_of` is the number of the one that it would take the place of."""

    topics: str
    rule: Rule
    below: str
    instead_of: int | None = None


class Asked(NamedTuple):
    """A pasted record, or where a real one is; `role` is whose view is wanted."""

    topic: str
    role: str
    pasted: Raw | None = None
    place: tuple[int, int] | None = None


class Seen(NamedTuple):
    """The record as the role sees it, and the rules that were applied."""

    record: Found
    rules: tuple[Rule, ...]


def preview(actor: Actor, cluster: Cluster, asked: Asked, trial: Trial | None = None) -> Seen:
    told = {"role": asked.role, "pasted": asked.pasted is not None, "place": asked.place}
    with audited(actor, ADMIN, "preview what is hidden", asked.topic, cluster=cluster, changes_cluster=False, after=told):
        _check(cluster, asked)
        rules = rules_of_role(cluster, asked.topic, asked.role, trial)
        search = Search(
            id=store.new_id(),
            cluster=cluster.pk,
            topic=asked.topic,
            query=_query(asked),
            by=actor.name,
            asked_ms=now_ms(),
            rules=rules,
            chars=WHOLE_CHARS,
            pasted=asked.pasted,
        )
        store.ask(search)
        return Seen(_found(search, asked), rules)


def rules_of_role(cluster: Cluster, topic: str, role: str, trial: Trial | None) -> tuple[Rule, ...]:
    """What would be hidden from the role in the topic if the trial were a rule."""
    theirs = Actor("", role, "")
    kept = [row for row in MaskRule.objects.filter(cluster=cluster) if trial is None or row.pk != trial.instead_of]
    found = [rule_of(row) for row in kept if covers(row.topics, topic) and not theirs.may(row.below)]
    if trial is not None and covers(trial.topics, topic) and not theirs.may(trial.below):
        found.append(trial.rule)
    return in_order(found)


def _check(cluster: Cluster, asked: Asked) -> None:
    if asked.role not in ROLES:
        raise Invalid("role", f"A role is one of {', '.join(ROLES)}.")
    if not TOPICS.fullmatch(asked.topic) or "*" in asked.topic or "?" in asked.topic:
        raise Invalid("topic", "Name one topic: rules go by its name.")
    if (asked.pasted is None) == (asked.place is None):
        raise Invalid("value", "Paste a record, or say at which partition and offset a real one is: one of the two.")
    if asked.pasted is not None and asked.pasted.size > PASTED_BYTES_MAX:
        raise Invalid("value", f"Paste at most {PASTED_BYTES_MAX // 1024} KiB.")
    if asked.place is not None:
        topic_or_fail(Snapshot(cluster.pk), asked.topic)


def _query(asked: Asked) -> Query:
    if asked.place is None:
        return Query(count=1)
    partition, offset = asked.place
    return Query(start="offset", partition=partition, offset=offset, count=1)


def _found(search: Search, asked: Asked) -> Found:
    progress = await_progress(search, WAIT_S)
    found = store.found(search, 0, 1)
    if found and (asked.place is None or found[0].offset == asked.place[1]):
        return found[0]
    if progress.state == "failed":
        raise GatewayError("NOT_READ", progress.reason)
    if progress.state in ("done", "full"):
        raise NotFound(f"There is no record at that place of {asked.topic}.")
    raise Conflict(f"The process that reads records has not answered in time. {progress.reason}".strip())
