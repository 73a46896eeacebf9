"""The table of a group's members: what is known of all of them without looking at each."""

from __future__ import annotations

from broker_core.groups.member import Member, Members
from broker_core.groups.messages import Protocol
from tests.support.counted import CountedName


def member(member_id: str, names: list[str]) -> Member:
    protocols = tuple(Protocol(CountedName(name), b"") for name in names)
    return Member(member_id, None, "client", "/127.0.0.1", 10_000, 60_000, protocols)


def test_a_vote_looks_at_each_protocol_once() -> None:
    """A member may name as many as a request can hold; the loop must not stand still for it."""
    count = 300
    shared = [f"shared-{number}" for number in range(count)]
    members = Members()
    members.add(member("one", shared))
    members.add(member("two", [*(f"own-{number}" for number in range(count)), *shared]))
    CountedName.compared = 0
    assert members.select_protocol() == "shared-0"
    assert CountedName.compared < 10 * count
