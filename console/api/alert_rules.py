"""Rules of alerts, and the destinations that are told; an admin makes, changes, switches and deletes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpResponse
from msgspec import Struct
from ninja import Query, Router, Status
from pydantic import Field

from console import queries
from console.actions import alerts as actions
from console.alert_preview import preview
from console.alert_values import (
    DestinationSeen,
    RuleSeen,
    destination_or_fail,
    destinations_of,
    rule_or_fail,
    rules_of,
)
from console.api.answers import Listed
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.shapes import Strict, example
from console.clock import now_ms
from console.models import AlertRule, Cluster
from console.roles import ADMIN
from console.rules.alerts.destinations import NAME_MAX as DESTINATION_NAME_MAX
from console.rules.alerts.destinations import TO_MAX, URL_MAX
from console.rules.alerts.figures import FIGURES, FOR_S_MAX, NAME_MAX, SENTENCE_MAX, THRESHOLD_MAX, Condition, checked
from console.rules.registration import PASSWORD_LIMIT, USER_LIMIT

router = Router(tags=["alerts"])
RULES = "/clusters/{cluster_id}/alert-rules"
RULE = RULES + "/{int:rule_id}"
DESTINATIONS = "/alert-destinations"
DESTINATION = DESTINATIONS + "/{int:destination_id}"

FigureName = Annotated[str, Field(max_length=60, description=f"one of {', '.join(FIGURES)}")]
Comparison = Literal[">", ">=", "<", "<="]
Threshold = Annotated[float, Field(ge=0, le=THRESHOLD_MAX)]
ForSeconds = Annotated[int, Field(strict=True, ge=0, le=FOR_S_MAX, description="how long it must hold")]
Severity = Literal["critical", "warning", "notice"]
RuleName = Annotated[str, Field(min_length=1, max_length=NAME_MAX)]
Sentence = Annotated[str, Field(min_length=1, max_length=SENTENCE_MAX, description="what it means when it fires")]
Unless = Annotated[int | None, Field(description="the id of the rule that explains it: while that fires, this one does not begin to")]
IsOn = Annotated[bool, Field(strict=True)]
DestinationName = Annotated[str, Field(min_length=1, max_length=DESTINATION_NAME_MAX)]
Url = Annotated[str, Field(max_length=URL_MAX, description="never told again")]
Signing = Annotated[str, Field(max_length=PASSWORD_LIMIT, description="signs what is sent; never told again")]
Host = Annotated[str, Field(max_length=255, description="the mail server")]
Port = Annotated[int, Field(strict=True, ge=1, le=65_535)]
Security = Literal["starttls", "tls", "none"]
User = Annotated[str, Field(max_length=USER_LIMIT)]
Password = Annotated[str, Field(max_length=PASSWORD_LIMIT, description="never told again")]
Address = Annotated[str, Field(max_length=320)]
To = Annotated[list[Address], Field(max_length=TO_MAX)]
Reports = Annotated[Literal["", "news", "all"], Field(description="health reports that are mailed, too")]


class NewRule(Strict):
    model_config = example(
        name="Billing is late", figure="group_lag_s", comparison=">", threshold=600, for_s=120, severity="warning", sentence="It is late."
    )

    name: RuleName
    figure: FigureName
    comparison: Comparison
    threshold: Threshold
    for_s: ForSeconds
    severity: Severity
    sentence: Sentence
    unless: Unless = None


class RuleChange(Strict):
    """What is left out stays. `unless` null takes that away."""

    model_config = example(threshold=900)

    name: RuleName | None = None
    figure: FigureName | None = None
    comparison: Comparison | None = None
    threshold: Threshold | None = None
    for_s: ForSeconds | None = None
    severity: Severity | None = None
    sentence: Sentence | None = None
    unless: Unless = None
    is_on: IsOn | None = None


class RuleTried(Strict):
    figure: FigureName
    comparison: Comparison
    threshold: Threshold
    for_s: Annotated[int, Field(ge=0, le=FOR_S_MAX)] = 0


class Tried(Struct):
    """What a rule would have done, in words; null of the week where the analyses do not have the figure."""

    day: str
    week: str | None


class NewDestination(Strict):
    """A webhook has `url` and perhaps `secret`, Slack `url`; mail has the others."""

    model_config = example(name="on call", kind="webhook", url="https://hooks.example.org/alerts", secret="a long one")

    name: DestinationName
    kind: Literal["webhook", "slack", "mail"]
    url: Url = ""
    secret: Signing = ""
    host: Host = ""
    port: Port | None = None
    security: Security = "starttls"
    user: User = ""
    password: Password = ""
    sender: Address = ""
    to: Annotated[To, Field(default_factory=list)]
    reports: Reports = ""


class DestinationChange(Strict):
    """What is left out stays, secrets too. The kind stays."""

    model_config = example(is_on=False)

    name: DestinationName | None = None
    url: Url | None = None
    secret: Signing | None = None
    host: Host | None = None
    port: Port | None = None
    security: Security | None = None
    user: User | None = None
    password: Password | None = None
    sender: Address | None = None
    to: To | None = None
    reports: Reports | None = None
    is_on: IsOn | None = None


def _unless(cluster: Cluster, number: int | None) -> AlertRule | None:
    return None if number is None else rule_or_fail(cluster, number)


def _rule_seen(cluster: Cluster, number: int) -> RuleSeen:
    return next(one for one in rules_of(cluster) if one.id == number)


@router.get(RULES)
@answers(Listed[RuleSeen])
def rules(request: Any, cluster_id: str) -> Listed[RuleSeen]:
    """The worst severity first; a cluster has 100 at most. `unknown_count` says of how many targets the figure is not known."""
    return Listed(rules_of(queries.cluster_of(cluster_id)), None)


@router.post(RULES, auth=Bearer(ADMIN, "make an alert rule"), response={201: Any})
@answers(s201=RuleSeen)
def create_rule(request: Any, cluster_id: str, payload: NewRule) -> Status[Any]:
    """Looked at from now on, every 15 s."""
    cluster = queries.cluster_of(cluster_id)
    made = actions.create_rule(request.auth, cluster, payload.dict(exclude={"unless"}), _unless(cluster, payload.unless))
    return Status(201, _rule_seen(cluster, made.pk))


@router.get(RULES + "/preview")
@answers(Tried)
def try_rule(request: Any, cluster_id: str, query: Query[RuleTried]) -> Tried:
    """How often such a rule would have fired in the last day and week, as far as that is kept; nothing is made. 422 of a figure that
    neither the history nor the analyses have."""
    asked = query.dict()
    parts = checked({**asked, "name": "preview", "sentence": "preview", "severity": "notice"})
    found = preview(queries.cluster_of(cluster_id), Condition(*(parts[part] for part in asked)), now_ms())
    return Tried(found.sentence, found.week and found.week.sentence)


@router.patch(RULE, auth=Bearer(ADMIN, "change an alert rule"))
@answers(RuleSeen)
def change_rule(request: Any, cluster_id: str, rule_id: int, payload: RuleChange) -> RuleSeen:
    """Of a rule whose condition changes what is open ends, and nobody is told that it were over. A rule of every cluster keeps its name."""
    cluster = queries.cluster_of(cluster_id)
    rule, given = rule_or_fail(cluster, rule_id), payload.dict(exclude_unset=True)
    parts = {name: value for name, value in given.items() if name in actions.PARTS and value is not None}
    if parts or "unless" in given:
        unless = _unless(cluster, given["unless"]) if "unless" in given else rule.unless
        before = {part: getattr(rule, part) for part in actions.PARTS}
        actions.change_rule(request.auth, rule, {**before, **parts}, unless, seen=actions.seen_of(rule))
    if payload.is_on is not None and payload.is_on != rule.is_on:
        actions.switch_rule(request.auth, rule, is_on=payload.is_on)
    return _rule_seen(cluster, rule_id)


@router.delete(RULE, auth=Bearer(ADMIN, "delete an alert rule"), response={204: None})
@answers(s204=None)
def delete_rule(request: Any, cluster_id: str, rule_id: int) -> HttpResponse:
    """With its alerts and silences. 409 of a rule that every cluster has: switch it off."""
    actions.delete_rule(request.auth, rule_or_fail(queries.cluster_of(cluster_id), rule_id))
    return HttpResponse(status=204)


def _texts(given: dict[str, Any]) -> dict[str, str]:
    """As a form has them."""
    texts = {name: str(value) for name, value in given.items() if value is not None and name not in ("to", "is_on")}
    return texts | ({"to": ",".join(given["to"])} if given.get("to") is not None else {})


def _destination_seen(number: int) -> DestinationSeen:
    return next(one for one in destinations_of() if one.id == number)


@router.get(DESTINATIONS)
@answers(Listed[DestinationSeen])
def destinations(request: Any) -> Listed[DestinationSeen]:
    """Of alerts of all clusters, with what became of the last notice; there are 20 at most."""
    return Listed(destinations_of(), None)


@router.post(DESTINATIONS, auth=Bearer(ADMIN, "add a destination of alerts"), response={201: Any})
@answers(s201=DestinationSeen)
def add_destination(request: Any, payload: NewDestination) -> Status[Any]:
    """For the alerts of all clusters. `POST …/test` sends one notice there."""
    return Status(201, _destination_seen(actions.add_destination(request.auth, _texts(payload.dict())).pk))


@router.patch(DESTINATION, auth=Bearer(ADMIN, "change a destination of alerts"))
@answers(DestinationSeen)
def change_destination(request: Any, destination_id: int, payload: DestinationChange) -> DestinationSeen:
    """A notice that is under way goes where it leads then."""
    row, given = destination_or_fail(destination_id), payload.dict(exclude_unset=True)
    if typed := _texts(given):
        there = {name: ",".join(value) if name == "to" else str(value) for name, value in row.settings.items()}
        whole = {"name": row.name, **there, **typed, "seen": actions.seen_of_destination(row)}
        actions.change_destination(request.auth, row, whole)
    if payload.is_on is not None and payload.is_on != row.is_on:
        actions.switch_destination(request.auth, destination_or_fail(destination_id), is_on=payload.is_on)
    return _destination_seen(destination_id)


@router.delete(DESTINATION, auth=Bearer(ADMIN, "remove a destination of alerts"), response={204: None})
@answers(s204=None)
def remove_destination(request: Any, destination_id: int) -> HttpResponse:
    """With what was sent there."""
    actions.remove_destination(request.auth, destination_or_fail(destination_id))
    return HttpResponse(status=204)


@router.post(DESTINATIONS + "/{int:destination_id}/test", auth=Bearer(ADMIN, "test a destination of alerts"))
@answers(DestinationSeen)
def test(request: Any, destination_id: int) -> DestinationSeen:
    """Sends one notice there, once; what becomes of it is told with the destinations in a few seconds."""
    row = destination_or_fail(destination_id)
    actions.test_destination(request.auth, row, queries.local_cluster())
    return _destination_seen(row.pk)
