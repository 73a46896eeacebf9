"""Settings of topics, of brokers, and of all brokers: read, previewed, changed. One shape for the three."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct
from ninja import Router
from pydantic import Field

from console import queries
from console.actions.settings import CHANGES_MAX, change_settings, preview_settings, read_settings
from console.api.bearer import Bearer
from console.api.described import answers, matching
from console.api.shapes import Confirm, DryRun, Strict
from console.gateway.errors import GatewayError
from console.hosting import broker_or_fail
from console.models import Cluster
from console.roles import ADMIN, OPERATOR
from console.rules.settings.changes import Change
from console.rules.settings.model import Owner, Setting, etag
from console.snapshot.read import Snapshot

router = Router(tags=["settings"])
TOPIC = "/clusters/{cluster_id}/topics/{name}/settings"
BROKER = "/clusters/{cluster_id}/brokers/{int:broker_id}/settings"
BROKERS = "/clusters/{cluster_id}/broker-defaults"


class Settings(Struct):
    """All of them by name. The ETag stands for what is set here (`own`), whatever is in force otherwise."""

    items: list[Setting]


class SettingsChange(Strict):
    """Values are as Kafka takes them: whole numbers without units."""

    model_config = Strict.model_config | {
        "json_schema_extra": {
            "examples": [
                {"configs": {"retention.ms": "604800000", "compression.type": None}, "dry_run": True},
                {"configs": {"retention.ms": "3600000"}, "confirm": True},
            ]
        }
    }

    configs: Annotated[dict[str, str | None], Field(min_length=1, max_length=CHANGES_MAX, description="null takes away what is set here")]
    dry_run: DryRun = False
    confirm: Confirm = False


class SettingsChanged(Struct):
    """Of a dry run nothing is done, and `items` are null."""

    items: list[Setting] | None
    changes: Annotated[list[Change], Meta(description="what is, or would be, changed")]
    risks: Annotated[list[str], Meta(description="of a dry run: what wants `confirm`")]
    effects: Annotated[list[str], Meta(description="of a dry run: how much would be deleted, as far as that can be counted")]


def _read(request: Any, cluster_id: str, owner: Owner) -> Settings:
    cluster = queries.cluster_at(cluster_id)
    if cluster.moment_ms is not None:
        raise queries.NotFound("Settings are not kept for the past.")
    _there(cluster, owner)
    found = read_settings(cluster, owner)
    request.etag = etag(found)
    return Settings(found)


def _there(cluster: Cluster, owner: Owner) -> None:
    if owner.kind == "broker":
        broker_or_fail(Snapshot(cluster.pk), int(owner.name))


def _change(request: Any, cluster_id: str, owner: Owner, payload: SettingsChange) -> SettingsChanged:
    cluster = queries.cluster_of(cluster_id)
    _there(cluster, owner)
    if payload.dry_run:
        found = preview_settings(cluster, owner, payload.configs)
        request.etag = found.seen
        return SettingsChanged(None, found.changes, found.risks, found.effects)
    changes = change_settings(request.auth, cluster, owner, payload.configs, seen=tags_of(request), confirm=payload.confirm)
    after = _after(cluster, owner)
    request.etag = None if after is None else etag(after)
    return SettingsChanged(after, changes, [], [])


def tags_of(request: Any) -> list[str]:
    """The ETags of which `If-Match` wants one to be that of what is set; none where any will do."""
    found = [one.strip() for one in request.headers.get("If-Match", "").split(",") if one.strip()]
    return [] if "*" in found else found


def _after(cluster: Cluster, owner: Owner) -> list[Setting] | None:
    """The change is made, whether they can be read again or not."""
    try:
        return read_settings(cluster, owner)
    except GatewayError:
        return None


@router.get(TOPIC)
@answers(Settings)
def topic_settings(request: Any, cluster_id: str, name: str) -> Settings:
    """As its brokers say now: with what is set for the topic, what would be in force otherwise, and units in words."""
    return _read(request, cluster_id, Owner("topic", name))


@router.patch(TOPIC, auth=Bearer(OPERATOR, "change topic settings"))
@matching
@answers(SettingsChanged)
def change_topic_settings(request: Any, cluster_id: str, name: str, payload: SettingsChange) -> SettingsChanged:
    """What the brokers refuse is told at each setting (`errors`). What puts records at risk wants `confirm`."""
    return _change(request, cluster_id, Owner("topic", name), payload)


@router.get(BROKER)
@answers(Settings)
def broker_settings(request: Any, cluster_id: str, broker_id: int) -> Settings:
    """As the broker itself says now. Of a moment of the past they are not kept."""
    return _read(request, cluster_id, Owner("broker", str(broker_id)))


@router.patch(BROKER, auth=Bearer(ADMIN, "change broker settings"))
@matching
@answers(SettingsChanged)
def change_broker_settings(request: Any, cluster_id: str, broker_id: int, payload: SettingsChange) -> SettingsChanged:
    """Of this one broker, which takes them while it runs; as for topics."""
    return _change(request, cluster_id, Owner("broker", str(broker_id)), payload)


@router.get(BROKERS)
@answers(Settings)
def broker_defaults(request: Any, cluster_id: str) -> Settings:
    """What can be set for all brokers at once while they run; what is in force otherwise is told by the broker with the lowest number."""
    return _read(request, cluster_id, Owner("brokers"))


@router.patch(BROKERS, auth=Bearer(ADMIN, "change brokers' defaults"))
@matching
@answers(SettingsChanged)
def change_broker_defaults(request: Any, cluster_id: str, payload: SettingsChange) -> SettingsChanged:
    """For all brokers that have no value of their own; as for topics."""
    return _change(request, cluster_id, Owner("brokers"), payload)
