"""What a handler is, what it is given, and the registry of all of them that ApiVersions is computed from.

A handler is a coroutine function `handle` in a file of this package, marked with its key and its version range; the file is
all it takes to serve and advertise the key:

    @handler(ApiKey.HEARTBEAT, versions=range(0, 5), needs=on_group(Operation.READ))
    async def handle(request: Request) -> Answer: ...

What it declares is seen to before it is called (`server/pipeline.py`). It returns one payload for all its versions, a mapping
that has everything but the throttle time; or what makes the parts of a complete response frame (header included) of a throttle
time; or `Later`, one of these that waits for other brokers; or None when the client expects no answer. A `KafkaError` that leaves it
refuses the request as a whole. A vendor key's body is the rest of the frame, undecoded.
"""

from __future__ import annotations

import asyncio
import enum
import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from msgspec import Struct

from broker_core.handlers.access import CLUSTER, Action, Operation, Resource, both, nothing, on_cluster, on_group, on_resources, on_topics
from broker_core.protocol.api import VENDOR_KEY_MIN
from broker_core.quotas.toll import FREE, Toll
from broker_core.seams import Part, Peer

if TYPE_CHECKING:
    from broker_core.handlers.access import Needs
    from broker_core.handlers.services import BrokerServices
    from broker_core.protocol.headers import RequestHeader

__all__ = ["CLUSTER", "Action", "Operation", "Resource", "both", "nothing", "on_cluster", "on_group", "on_resources", "on_topics"]
__all__ += ["ANONYMOUS", "Answer", "ApiHandler", "ConnectionInfo", "Frame", "Later", "Payload", "Registry", "Request", "Scope"]
__all__ += ["full_registry", "handler"]

T = TypeVar("T")

Payload = Mapping[str, Any]
Frame = Callable[[int], list[Part]]
"""Makes the frame of a throttle time in milliseconds."""


class Later(Struct, Generic[T], frozen=True):
    """What there is once `done` is, which never fails; then `made` makes it, and does not raise. An answer only of a request whose effect
    has its place among those of its connection already: the client's next one may be begun meanwhile."""

    done: asyncio.Future[Any]
    made: Callable[[], T]


Answer = Payload | Frame | Later[Frame] | None
ANONYMOUS = "User:ANONYMOUS"
"""The principal of a listener that asks nobody who it is, as Kafka's PLAINTEXT."""


class ConnectionInfo(Struct):
    """One client's connection; the client's software is known once it has sent ApiVersions v3 or later."""

    connection_id: int
    peer: Peer
    listener: str
    principal: str = ANONYMOUS
    software_name: str = "unknown"
    software_version: str = "unknown"
    last_feed_answer_ms: float = 0.0


class Request(Struct, frozen=True):
    """One decoded request and all that a stage may know of it: its header (client id, version), its connection (principal, listener,
    address), the broker and what it costs its client; `body` is the codec's entity, read with `protocol.codec.field`."""

    header: RequestHeader
    body: Any
    version: int
    broker: BrokerServices
    connection: ConnectionInfo
    toll: Toll = FREE

    @property
    def client_id(self) -> str | None:
        return self.header.client_id


HandlerFunction = Callable[[Request], Awaitable[Answer]]


class Scope(enum.Enum):
    """Who may serve a key: every broker, or the controller alone, for the cluster."""

    BROKER = "broker"
    CLUSTER = "cluster"


class ApiHandler(Struct, frozen=True):
    """A handler with what it declares; calling it calls the function."""

    key: int
    versions: range
    needs: Needs
    scope: Scope
    function: HandlerFunction

    def __call__(self, request: Request) -> Awaitable[Answer]:
        return self.function(request)


def handler(key: int, *, versions: range, needs: Needs, scope: Scope = Scope.BROKER) -> Callable[[HandlerFunction], ApiHandler]:
    """Marks a coroutine function as the handler of `key` for `versions` (a range: its end is exclusive)."""
    return lambda function: ApiHandler(key, versions, needs, scope, function)


class ApiRange(NamedTuple):
    """One row of ApiVersions; both versions are inclusive."""

    key: int
    min_version: int
    max_version: int


class Registry:
    """All handlers by key."""

    def __init__(self, handlers: Iterable[ApiHandler]) -> None:
        self._by_key: dict[int, ApiHandler] = {}
        for entry in handlers:
            other = self._by_key.setdefault(int(entry.key), entry)
            if other is not entry:
                raise ValueError(f"{other.function.__module__} and {entry.function.__module__} both claim API key {entry.key!r}")

    def __contains__(self, key: int) -> bool:
        return key in self._by_key

    def find(self, key: int, version: int) -> ApiHandler | None:
        """The handler for this key and version, or None."""
        entry = self._by_key.get(key)
        return entry if entry is not None and version in entry.versions else None

    def advertised(self) -> list[ApiRange]:
        """What ApiVersions answers, ordered by key; vendor keys are nobody's business."""
        rows = [ApiRange(key, entry.versions[0], entry.versions[-1]) for key, entry in sorted(self._by_key.items())]
        return [row for row in rows if row.key < VENDOR_KEY_MIN]


def full_registry() -> Registry:
    """The registry of a broker: what the files of this package have marked, in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(importlib.import_module(__package__).__path__))
    modules = [importlib.import_module(f"{__package__}.{name}") for name in names]
    return Registry(module.handle for module in modules if hasattr(module, "handle"))
