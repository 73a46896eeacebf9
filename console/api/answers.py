"""What REST answers: the live values as they are (`broker_core/contract`), what is told beside them, and pages of both.

The types describe the answers (`described.py`); a figure that is not known is null. More fields may come, never fewer.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import asdict

from broker_core.contract import jobs, live
from broker_core.contract.groups import Group
from console.jobs.registry import KINDS as JOB_KINDS
from console.rules.forecast.stopping import Stopped
from console.rules.problems import KINDS

Item = TypeVar("Item")
Read = TypeVar("Read", bound=Struct)


class Problem(Struct, omit_defaults=True):
    """RFC 9457: what was wrong and what to do next, in the broker's words where it said so."""

    type: Annotated[str, Meta(description="leads to its entry at /api/v1/problems")]
    title: str
    status: int
    code: Annotated[str, Meta(description="what programs go by; stays as it is", extra_json_schema={"enum": list(KINDS)})]
    detail: str
    field: Annotated[str | None, Meta(description="what of the request is wrong")] = None
    errors: list[dict[str, str]] | None = None
    kafka_code: Annotated[int | None, Meta(description="Kafka's error code, where the cluster answered one")] = None
    kafka_name: Annotated[str | None, Meta(description="its name in Kafka's protocol")] = None


class ProblemKind(Struct):
    code: str
    status: int
    title: str
    advice: Annotated[str, Meta(description="what to do next; may be empty")]


class Listed(Struct, Generic[Item]):
    """A page of a list; `next` is the cursor of the next one, null on the last."""

    items: list[Item]
    next: str | None


class ListedLive(Listed[Item], Generic[Item]):
    """A list from the live snapshot."""

    as_of: live.AsOf


class Cluster(live.Cluster, frozen=True, kw_only=True):
    name: str
    bootstrap_servers: str
    is_local: Annotated[bool, Meta(description="its processes are ours to control")]
    read_only: Annotated[bool, Meta(description="every change is refused with the code cluster-read-only")]
    colour: str
    zookeeper: str
    security_protocol: str
    sasl_mechanism: str
    sasl_username: str
    check_hostname: bool
    has_secrets: Annotated[bool, Meta(description="a password or a key is kept; neither is ever answered")]
    kafka_id: Annotated[str | None, Meta(description="what the cluster called itself when it was tested; null before")]
    as_of: live.AsOf


class ReadBroker(live.Broker, frozen=True, kw_only=True):
    as_of: live.AsOf


class IfStopped(Stopped, frozen=True, kw_only=True):
    as_of: live.AsOf


class ReadGroup(Group, frozen=True, kw_only=True):
    as_of: live.AsOf


def read(kind: type[Read], value: Struct, **more: Any) -> Read:
    """A live value with what is told beside it."""
    return kind(**asdict(value), **more)


class BrokerAction(Struct):
    broker_id: int
    action: str
    done: bool = True


class Job(jobs.Job, frozen=True, kw_only=True):
    kind: Annotated[str, Meta(extra_json_schema={"enum": list(JOB_KINDS)})]
