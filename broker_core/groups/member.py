"""One member of a group, and the table of all of them. Pure: no clock, no tickets are answered here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable

from msgspec import Struct

from broker_core.groups.messages import JoinedMember, Protocol, Ticket


class Member(Struct):
    """`join_ticket` and `sync_ticket` are the requests parked for this member; `is_new` until its first generation begins."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[Protocol, ...]
    assignment: bytes = b""
    join_ticket: Ticket | None = None
    sync_ticket: Ticket | None = None
    is_new: bool = False

    @property
    def awaits_join(self) -> bool:
        return self.join_ticket is not None

    @property
    def is_waiting(self) -> bool:
        """Parked by the coordinator itself, so silence is not a sign of death."""
        return (self.awaits_join and not self.is_new) or self.sync_ticket is not None

    def metadata_for(self, protocol: str | None) -> bytes:
        return next((entry.metadata for entry in self.protocols if entry.name == protocol), b"")

    def vote(self, candidates: Container[str]) -> str:
        """The first of its own protocols, in its order of preference, that is a candidate."""
        return next(entry.name for entry in self.protocols if entry.name in candidates)


class Members:
    """A group's members in the order they came, with what has to be known about all of them in constant time.

    `pending` are ids given out by MEMBER_ID_REQUIRED that have not joined yet (KIP-394); `unsynced` are members of the present
    generation whose SyncGroup is still missing. Both are ordered sets (dictionaries without values).
    """

    def __init__(self) -> None:
        self._by_id: dict[str, Member] = {}
        self._static: dict[str, str] = {}
        self._support: Counter[str] = Counter()
        self.pending: dict[str, None] = {}
        self.unsynced: dict[str, None] = {}
        self.leader: str | None = None
        self.awaiting_count = 0

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._by_id

    def __getitem__(self, member_id: str) -> Member:
        return self._by_id[member_id]

    def all(self) -> list[Member]:
        return list(self._by_id.values())

    def static_id(self, instance_id: str | None) -> str | None:
        """The member id that an instance id stands for at present (KIP-345)."""
        return None if instance_id is None else self._static.get(instance_id)

    def add(self, member: Member) -> None:
        """A first member becomes the leader. An id or instance id that is taken is our own bug."""
        assert member.member_id not in self._by_id
        if member.instance_id is not None:
            assert member.instance_id not in self._static
            self._static[member.instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id
        self._by_id[member.member_id] = member
        self._count(member, 1)
        self.pending.pop(member.member_id, None)

    def remove(self, member_id: str) -> Member | None:
        """Forgets a member or a pending id; the leader's place goes to the oldest member left."""
        self.pending.pop(member_id, None)
        self.unsynced.pop(member_id, None)
        member = self._by_id.pop(member_id, None)
        if member is not None:
            self.unpark_join(member)
            self._count(member, -1)
            if member.instance_id is not None:
                self._static.pop(member.instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self._by_id), None)
        return member

    def rename_static(self, instance_id: str, new_member_id: str) -> Member:
        """Gives a static member a new id; leadership and a sync that is still due go with it."""
        old_member_id = self._static[instance_id]
        member = self._by_id.pop(old_member_id)
        member.member_id = new_member_id
        self._by_id[new_member_id] = member
        self._static[instance_id] = new_member_id
        if self.leader == old_member_id:
            self.leader = new_member_id
        if old_member_id in self.unsynced:
            del self.unsynced[old_member_id]
            self.unsynced[new_member_id] = None
        return member

    def update(self, member: Member, protocols: tuple[Protocol, ...], session_timeout_ms: int, rebalance_timeout_ms: int) -> None:
        self._count(member, -1)
        member.protocols = protocols
        self._count(member, 1)
        member.session_timeout_ms = session_timeout_ms
        member.rebalance_timeout_ms = rebalance_timeout_ms

    def _count(self, member: Member, step: int) -> None:
        for name in dict.fromkeys(entry.name for entry in member.protocols):
            self._support[name] += step
            if not self._support[name]:
                del self._support[name]

    def supported_by_all(self, protocols: Iterable[Protocol]) -> bool:
        """Whether every member supports at least one of these protocols."""
        return any(self._support[entry.name] == len(self._by_id) for entry in protocols)

    def select_protocol(self) -> str:
        """Each member votes for its most preferred protocol among those that all support; ties go to the one voted for first."""
        candidates = frozenset(name for name, count in self._support.items() if count == len(self._by_id))
        votes = Counter(member.vote(candidates) for member in self._by_id.values())
        return votes.most_common(1)[0][0]

    def park_join(self, member: Member, ticket: Ticket) -> None:
        assert member.join_ticket is None
        member.join_ticket = ticket
        self.awaiting_count += 1

    def unpark_join(self, member: Member) -> Ticket | None:
        """The member's parked join, which is then no longer parked."""
        ticket, member.join_ticket = member.join_ticket, None
        self.awaiting_count -= ticket is not None
        return ticket

    @property
    def all_joined(self) -> bool:
        return not self.pending and self.awaiting_count == len(self._by_id)

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest of the members', which is how long a rebalance waits."""
        return max((member.rebalance_timeout_ms for member in self._by_id.values()), default=0)

    def elect_joined_leader(self) -> bool:
        """Keeps a leader that has joined, else takes the oldest member that has; False when nobody has."""
        if self.leader is not None and self._by_id[self.leader].awaits_join:
            return True
        joined = next((member.member_id for member in self._by_id.values() if member.awaits_join), None)
        if joined is not None:
            self.leader = joined
        return joined is not None

    def as_joined(self, protocol: str | None) -> tuple[JoinedMember, ...]:
        return tuple(JoinedMember(m.member_id, m.instance_id, m.metadata_for(protocol)) for m in self._by_id.values())
