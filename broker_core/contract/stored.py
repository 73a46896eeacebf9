"""What the coordination store says of a cluster, as `live` hears it."""

from __future__ import annotations

from msgspec import Struct


class Registration(Struct, frozen=True, gc=False):
    """A broker that is registered; `epoch` is its broker epoch, which a cluster's metadata does not tell. `gone_by`: its process counts as
    gone although its session lives, since these brokers see its port refuse (`highwater.early.failover.enable`)."""

    host: str
    port: int
    rack: str | None
    epoch: int | None
    gone_by: tuple[int, ...] = ()


class Assignment(Struct, frozen=True, gc=False):
    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class Topic(Struct, frozen=True, gc=False):
    """`settings` are its own; those with the brokers' defaults are `min_insync_replicas` and `unclean` (None: not known)."""

    topic_id: str | None
    internal: bool
    min_insync_replicas: int | None
    unclean: bool | None
    partitions: dict[int, Assignment]
    settings: dict[str, str] | None = None

    def brokers(self) -> set[int]:
        """Who has a copy of any partition."""
        return {broker for assignment in self.partitions.values() for broker in assignment.replicas}

    def is_moving(self) -> bool:
        return any(assignment.adding or assignment.removing for assignment in self.partitions.values())
