"""What a request needs leave for, and who gives it: Kafka's `AclOperation`, `ResourceType` and `Authorizer`.

A handler declares its needs as a function that names the resources of a request; the stage before it asks the authorizer for all of
them. A request of which one thing is denied is refused whole, with the code of that resource.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from broker_core.admin.configs import ResourceType
from broker_core.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.handlers.registry import Request


class Operation(enum.IntEnum):
    """The codes are those of ACLs and of `authorized_operations`, a sum of 1 << code."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


class Resource(enum.Enum):
    """What can be asked for; the value is what a client is told that may not have it."""

    TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED
    CLUSTER = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    TRANSACTIONAL_ID = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class Action(NamedTuple):
    """One thing to have leave for; for some of them `on_cluster` will do as well, an operation on the cluster."""

    operation: Operation
    resource: Resource
    name: str
    on_cluster: Operation | None = None


CLUSTER = "kafka-cluster"
"""The name of the one resource of its kind."""
Needs = Callable[["Request"], Iterable[Action]]


class Authorizer(Protocol):
    def denied(self, request: Request, needs: Needs) -> Action | None:
        """The first of the request's needs that its principal has no leave for, by its address and listener; None if it may."""
        ...


class AllowAll:
    """Kafka without `authorizer.class.name`: whoever reaches the listener may do everything."""

    def denied(self, request: Request, needs: Needs) -> Action | None:
        return None


def nothing(request: Request) -> Iterable[Action]:
    """For what everybody may ask, as a client must before it is known, or may be told as nobody could do anything with it."""
    return ()


def on_cluster(operation: Operation) -> Needs:
    actions = (Action(operation, Resource.CLUSTER, CLUSTER),)
    return lambda request: actions


def on_group(operation: Operation, names: str = "group_id") -> Needs:
    """One group, or each of a list of them."""

    def needs(request: Request) -> Iterable[Action]:
        named = getattr(request.body, names)
        return [Action(operation, Resource.GROUP, name) for name in ((named,) if isinstance(named, str) else named)]

    return needs


def on_topics(operation: Operation, rows: str = "topics", name: str = "name", on_cluster: Operation | None = None) -> Needs:
    """The topics of the rows of a request; of those that ask for all (null) there is none to name."""
    return lambda request: (Action(operation, Resource.TOPIC, getattr(row, name), on_cluster) for row in getattr(request.body, rows) or ())


def on_resources(operation: Operation) -> Needs:
    """Those that have settings: topics by their names, everything else is the cluster's."""

    def needs(request: Request) -> Iterable[Action]:
        for row in request.body.resources:
            is_topic = row.resource_type == ResourceType.TOPIC
            yield Action(operation, Resource.TOPIC, row.resource_name) if is_topic else Action(operation, Resource.CLUSTER, CLUSTER)

    return needs


def both(one: Needs, other: Needs) -> Needs:
    return lambda request: (*one(request), *other(request))
