"""Bodies that REST takes, and how a list is cut into pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from ninja import Schema
from pydantic import AwareDatetime, ConfigDict, Field, create_model

from console.api.answers import Item, Listed, ListedLive
from console.jobs.kind import Id, Name
from console.jobs.registry import ON_REQUEST
from console.queries import BadCursor, cursor, read_cursor
from console.snapshot.read import Snapshot

LIMIT_MAX = 500
Key = TypeVar("Key", str, int)
Limit = Annotated[int, Field(ge=1, le=LIMIT_MAX)]
GroupId = Annotated[str, Field(min_length=1, max_length=255)]
Offset = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
Place = Annotated[int, Field(ge=0, lt=2**63, description="An offset of the log")]
Number = Annotated[int, Field(ge=0, lt=2**31, description="A broker's id, or the number of a partition")]
Moment = Annotated[int, Field(ge=0, lt=10**15, description="Milliseconds since 1970")]
EventText = Annotated[str, Field(max_length=200, description="A part of the sentence, in any case of letters")]
DryRun = Annotated[bool, Field(strict=True, description="Only tell what would be done")]
Confirm = Annotated[bool, Field(strict=True, description="Do it although it warns")]


Pem = Annotated[str, Field(max_length=50_000, description="PEM text")]


class Strict(Schema):
    """A field we do not know is an error: a typing mistake is not a default."""

    model_config = ConfigDict(extra="forbid")


def example(**body: Any) -> ConfigDict:
    """The configuration of a body that shows this one in the description."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [body]})


class ListQuery(Schema):
    """Of both lists: what may be left out is empty. Values are checked by `Wanted`, which names what is known."""

    q: Annotated[str, Field(max_length=255, description="a part of the name, in any case of letters")] = ""
    state: Annotated[str, Field(max_length=40)] = ""
    lag: Annotated[str, Field(max_length=1, description="1: only with lag")] = ""
    sort: Annotated[str, Field(max_length=40, description="name, or the field of an item to sort all of the list by")] = ""
    order: Annotated[str, Field(max_length=4, description="asc or desc; the worst state is the highest; unknown is last in both")] = ""


class TopicQuery(ListQuery):
    troubled: Annotated[str, Field(max_length=1, description="1: only with a partition that is not safe")] = ""
    internal: Annotated[str, Field(max_length=1, description="0: without internal topics, 1: only these")] = ""
    group: Annotated[str, Field(max_length=255, description="only topics that this group reads")] = ""


class GroupQuery(ListQuery):
    topic: Annotated[str, Field(max_length=249, description="only groups that read this topic")] = ""


BROKERS_DEFAULT = "left out: the brokers' default"


def _brokers_default() -> int:
    """As Kafka's requests have it. Not told in the description: as a value it would be refused."""
    return -1


class NewTopic(Strict):
    model_config = example(name="orders", partitions=6, replication_factor=3, configs={"min.insync.replicas": "2"}, validate_only=True)

    name: Name
    partitions: int = Field(strict=True, ge=1, le=10_000, default_factory=_brokers_default, description=BROKERS_DEFAULT)
    replication_factor: int = Field(strict=True, ge=1, le=100, default_factory=_brokers_default, description=BROKERS_DEFAULT)
    configs: dict[str, str] = Field(default_factory=dict, max_length=100)
    validate_only: bool = False
    confirm: Confirm = False


class TopicChange(Strict):
    model_config = example(configs={"retention.ms": "86400000", "cleanup.policy": None}, dry_run=True)

    configs: dict[str, str | None] = Field(min_length=1, max_length=100)
    dry_run: DryRun = False
    confirm: Confirm = False


class UncleanElectionAsked(Strict):
    model_config = example(confirm=True)

    confirm: Confirm = False


class RecordDeletion(Strict):
    model_config = example(before=1200, dry_run=True)

    before: Offset
    dry_run: bool = False
    confirm: Confirm = False


class TopicRecordDeletion(Strict):
    """What is older than `time` goes, or what lies below the offset `before`; with neither all that there is. `partitions`: all where it is
    left out."""

    model_config = example(time="2026-01-31T09:00:00Z", dry_run=True)

    partitions: Annotated[list[Id], Field(min_length=1, max_length=200)] | None = None
    before: Offset | None = None
    time: AwareDatetime | None = None
    dry_run: DryRun = False
    confirm: Confirm = False


class NewPartitions(Strict):
    model_config = example(count=12, dry_run=True)

    count: Annotated[int, Field(strict=True, ge=1, le=10_000)]
    dry_run: DryRun = False
    confirm: Confirm = False


class Mending(Strict):
    model_config = example(object="topic/orders", dry_run=True)

    object: Annotated[str, Field(min_length=1, max_length=260, description="topic/NAME or brokers")]
    seen: Annotated[str | None, Field(max_length=64, description="of the drift that was shown")] = None
    dry_run: DryRun = False
    confirm: Confirm = False


class OffsetOf(Strict):
    topic: Name
    partition: Id
    offset: Offset


class SomeOf(Strict):
    """Of a topic these partitions; all where they are left out."""

    topic: Name
    partitions: list[Id] | None = Field(default=None, min_length=1, max_length=1000)


class OffsetMove(Strict):
    """Which: `topic` (with `partition` or `partitions`, else all of it), several `topics`, or neither: all it has committed.
    Where to: one of `to`, `time`, `shift` and `back`; or `offsets` or `csv`, which say both."""

    model_config = example(topic="orders", to="earliest", dry_run=True)

    topic: Name | None = None
    partition: Id | None = None
    partitions: list[Id] | None = Field(default=None, min_length=1, max_length=1000)
    topics: Annotated[list[SomeOf] | None, Field(min_length=1, max_length=100)] = None
    to: Literal["earliest", "latest", "current"] | Offset | None = None
    time: Annotated[AwareDatetime | None, Field(description="to the first record that is not older; needs a time zone")] = None
    shift: Annotated[int | None, Field(strict=True, gt=-(2**63), lt=2**63, description="so many records on, or back")] = None
    back: Annotated[str | None, Field(max_length=100, description="so long before now: 2h, 30 min or P1DT2H")] = None
    offsets: Annotated[list[OffsetOf] | None, Field(min_length=1, max_length=10_000)] = None
    csv: Annotated[str | None, Field(max_length=1_000_000, description="as `kafka-consumer-groups --export` writes it")] = None
    dry_run: DryRun = False
    confirm: Confirm = False


class OffsetUndo(Strict):
    model_config = example(dry_run=True)

    dry_run: DryRun = False
    confirm: Confirm = False


class OffsetDeletion(SomeOf):
    model_config = example(topic="orders", partitions=[0], dry_run=True)

    dry_run: DryRun = False


class MemberRemoval(Strict):
    """`members` are member ids or static names (group.instance.id); `all` says all that there are."""

    model_config = example(members=["billing-1"], dry_run=True)

    members: Annotated[list[Annotated[str, Field(min_length=1, max_length=400)]] | None, Field(min_length=1, max_length=1000)] = None
    all: Annotated[bool, Field(strict=True)] = False
    dry_run: DryRun = False


class ClusterChange(Strict):
    """Of a registered cluster; what is left out stays as it is. Secrets are taken and never answered."""

    model_config = example(name="North", read_only=False)

    name: Annotated[str, Field(max_length=100)] = ""
    bootstrap_servers: Annotated[str, Field(max_length=1000, description="host:port with commas")] = ""
    zookeeper: Annotated[str, Field(max_length=1000)] = ""
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = ""
    sasl_username: Annotated[str, Field(max_length=255)] = ""
    sasl_password: Annotated[str, Field(max_length=1000)] = ""
    ca_pem: Pem = ""
    certificate_pem: Pem = ""
    key_pem: Pem = ""
    check_hostname: Annotated[bool, Field(strict=True)] = True
    colour: str = ""
    read_only: Annotated[bool, Field(strict=True, description="Every change of the cluster is refused")] = False


class ClusterTrial(ClusterChange):
    model_config = example(id="north", bootstrap_servers="kafka1.example.org:9092")

    id: Annotated[str, Field(max_length=64, description="of a registered cluster, of which all that is left out is taken")] = ""


class NewCluster(ClusterChange):
    model_config = example(id="north", name="North", bootstrap_servers="kafka1.example.org:9092", colour="teal", read_only=True)

    id: Annotated[str, Field(max_length=64)]


class _NewJob(Strict):
    model_config = example(kind="preferred_leader_election")

    cluster: Annotated[str, Field(max_length=64)] = "local"
    kind: str


if TYPE_CHECKING:
    NewJob = _NewJob
else:
    _parameters = [kind.parameters for kind in ON_REQUEST.values() if kind.parameters]
    NewJob = create_model("NewJob", __base__=(_NewJob, *_parameters), kind=(Literal[tuple(ON_REQUEST)], ...))
"""A job of any kind, with the parameters of all; which of them are its own is asked later."""


def listed(items: Sequence[Item], limit: int, mark: Callable[[Item], str]) -> Listed[Item]:
    """A page of up to `limit`; `items` has one more than that where there is a further page."""
    more = len(items) > limit
    shown = list(items[:limit])
    return Listed(shown, cursor(mark(shown[-1])) if more else None)


def listed_names(names: Sequence[Key], limit: int, values_of: Callable[[list[Key]], list[Item]]) -> Listed[Item]:
    """The same of what has these names, one more of them than `limit` where there are more: what has gone meanwhile ends no list."""
    page = listed(names, limit, str)
    return Listed(values_of(page.items), page.next)


def listed_live(page: Listed[Item], snapshot: Snapshot) -> ListedLive[Item]:
    """The page with how old it may be."""
    return ListedLive(page.items, page.next, snapshot.as_of())


def number_cursor(text: str | None) -> int | None:
    if not text:
        return None
    mark = read_cursor(text)
    if not mark.isascii() or not mark.isdigit() or len(mark) > 18:
        raise BadCursor
    return int(mark)


def text_cursor(text: str | None) -> str:
    return read_cursor(text) if text else ""
