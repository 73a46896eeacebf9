"""One change to several topics, a topic at a time: each is an action of its own with its row in the audit, and one that fails stops none
of the others. What the time does not suffice for is not begun, and said."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from broker_core.contract.partitions import Topic
from console.actions.audit import judge_change
from console.actions.settings import change_settings, preview_settings
from console.actions.topics import delete_topic
from console.errors import Conflict, Invalid, Unconfirmed
from console.gateway.errors import GatewayError
from console.models import Cluster
from console.roles import ADMIN, OPERATOR, Actor
from console.rules.settings.model import Owner
from console.rules.words import counted, whole
from console.snapshot.read import Snapshot

TOPICS_MOST = 50
TIME_S = 25.0
PHRASE_MOST = 60
KEY_MAX, VALUE_MAX = 200, 2_000


class Result(NamedTuple):
    """How it went with one topic; `job` is the id of what follows it to its end."""

    topic: str
    outcome: Literal["done", "failed", "not begun"]
    words: str
    job: int | None = None


class Change(NamedTuple):
    """One topic's setting before and after, and what it puts at risk; `error`: why it would be refused, or could not be read."""

    topic: str
    before: str | None
    after: str | None
    risks: tuple[str, ...]
    error: str = ""


class Plan(NamedTuple):
    """What a change would do to each topic; `sentence` says it of all. Where `loses`, records can be lost: the phrase is to be typed."""

    sentence: str
    topics: Sequence[Topic]
    changes: Sequence[Change]
    risks: Sequence[str] = ()
    loses: bool = False


def checked_names(names: Sequence[str]) -> list[str]:
    found = list(dict.fromkeys(name for name in names if name))
    if not found:
        raise Invalid("topic", "Choose at least one topic.")
    if len(found) > TOPICS_MOST:
        raise Invalid("topic", f"Choose at most {whole(TOPICS_MOST)} topics at a time.")
    return found


def phrase(names: Sequence[str], doing: str = "delete") -> str:
    """What is to be typed before records of these topics can be lost: their names, where that is not too much to ask."""
    named = ", ".join(names)
    return named if len(named) <= PHRASE_MOST else f"{doing} {counted(len(names), 'topic')}".replace("\u202f", " ")


# --- what would happen


def plan_deletion(actor: Actor, cluster: Cluster, names: Sequence[str]) -> Plan:
    """The records, copies and readers that would be lost, as last seen."""
    judge_change(actor, ADMIN, "delete topics", phrase(names), cluster)
    topics = known(cluster, names)
    records = sum(topic.messages or 0 for topic in topics)
    least = "at least " if any(topic.messages is None or topic.unmeasured for topic in topics) else ""
    read = sum(topic.groups > 0 for topic in topics)
    readers = f" {counted(read, 'of them is', 'of them are')} read by groups, whose offsets there are lost, too." if read else ""
    sentence = f"{counted(len(topics), 'topic')} with {least}{counted(records, 'record')} would be removed from every broker.{readers}"
    return Plan(sentence, topics, ())


def plan_setting(actor: Actor, cluster: Cluster, names: Sequence[str], key: str, value: str) -> Plan:
    """An empty value takes the topics' own away. The brokers check each without doing it."""
    judge_change(actor, OPERATOR, "change topic settings", phrase(names), cluster)
    _check_setting(key, value)
    topics = known(cluster, names)
    found = [_change(cluster, topic.topic, key, value or None) for topic in topics]
    changes = [change for change, _ in found]
    same = sum(not change.error and change.before == change.after for change in changes)
    sentence = f"{key} of {counted(len(topics), 'topic')} would be {value or 'the default again'}."
    return Plan(sentence + (f" {whole(same)} have it so already." if same else ""), topics, changes, loses=any(loses for _, loses in found))


def _change(cluster: Cluster, topic: str, key: str, value: str | None) -> tuple[Change, bool]:
    """And whether records of it can be lost."""
    try:
        found = preview_settings(cluster, Owner("topic", topic), {key: value})
    except GatewayError as error:
        return Change(topic, None, value, (), str(error)), False
    return Change(topic, found.changes[0].before, value, tuple(found.risks)), found.loses


def _check_setting(key: str, value: str) -> None:
    if not key or len(key) > KEY_MAX:
        raise Invalid("key", "Name a setting.")
    if len(value) > VALUE_MAX:
        raise Invalid("value", f"A value has at most {whole(VALUE_MAX)} characters here.")


def known(cluster: Cluster, names: Sequence[str]) -> list[Topic]:
    """`Invalid` names those that are not there."""
    found = {topic.topic: topic for topic in Snapshot(cluster.pk).topics(names)}
    if gone := [name for name in names if name not in found]:
        raise Invalid("topic", f"There is no topic {gone[0]!r}" + (f", nor {counted(len(gone) - 1, 'other')}." if gone[1:] else "."))
    return [found[name] for name in names]


# --- doing it


def delete_topics(actor: Actor, cluster: Cluster, names: Sequence[str], *, confirm: str) -> list[Result]:
    judge_change(actor, ADMIN, "delete topics", phrase(names), cluster)
    if confirm.strip() != phrase(names):
        raise Invalid("confirm", f"Type {phrase(names)} to delete {counted(len(names), 'topic')} with all their records.")

    def delete(name: str) -> Result:
        job = delete_topic(actor, cluster, name, confirm=name, settle=False)
        return Result(name, "done", "is being deleted", None if job is None else job.pk)

    return each(names, delete)


def set_configs(actor: Actor, cluster: Cluster, names: Sequence[str], key: str, value: str, *, confirm: str = "") -> list[Result]:
    """The plan has told the risks, so they are taken; what can lose records wants the phrase as `confirm`."""
    loses = plan_setting(actor, cluster, names, key, value).loses
    if loses and confirm.strip() != (wanted := phrase(names, "change")):
        raise Unconfirmed("confirm", f"Type {wanted}: records of {counted(len(names), 'topic')} can be lost.")

    def change(name: str) -> Result:
        change_settings(actor, cluster, Owner("topic", name), {key: value or None}, confirm=True)
        return Result(name, "done", f"{key} is {value}" if value else f"{key} is the default again")

    return each(names, change)


def each(names: Sequence[str], act: Callable[[str], Result]) -> list[Result]:
    end, found = time.monotonic() + TIME_S, list[Result]()
    for name in names:
        if time.monotonic() >= end:
            found.append(Result(name, "not begun", "the time of one request was up: choose it again"))
            continue
        try:
            found.append(act(name))
        except (Invalid, Conflict, GatewayError) as error:
            found.append(Result(name, "failed", str(error)))
    return found
