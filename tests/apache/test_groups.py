"""Consumer groups: whole lives of groups, with what is right and wrong at each step, and offsets."""

from __future__ import annotations

import time
from typing import Any

import pytest

from broker_core.protocol.api import ApiKey
from tests.apache.comparison import Case, Pair, Script
from tests.apache.side import ANSWER_SECONDS, Side

JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, LEAVE_VERSION, COMMIT_VERSION = 9, 5, 4, 5, 8
RANGE = ("range", b"\0\1")


class Group:
    """One group on one side; members are dictionaries that remember what the coordinator told them."""

    def __init__(self, side: Side, group_id: str) -> None:
        self.side = side
        self.group_id = group_id
        answer = self.side.raw(ApiKey.FIND_COORDINATOR, 1, {"key": group_id, "key_type": 0})
        deadline = time.monotonic() + ANSWER_SECONDS
        while answer.error_code and time.monotonic() < deadline:
            time.sleep(0.05)
            answer = self.side.raw(ApiKey.FIND_COORDINATOR, 1, {"key": group_id, "key_type": 0})
        while self.raw_offsets().error_code and time.monotonic() < deadline:
            time.sleep(0.02)

    def raw_offsets(self) -> Any:
        return self.side.raw(ApiKey.OFFSET_FETCH, 5, {"group_id": self.group_id, "topics": None})

    def join_request(self, member_id: str = "", instance: str | None = None, **more: Any) -> dict[str, Any]:
        protocols = [{"name": name, "metadata": data} for name, data in more.pop("protocols", [RANGE])]
        fields = {"group_id": self.group_id, "session_timeout": 10_000, "rebalance_timeout": 10_000, "protocol_type": "consumer"}
        return fields | {"member_id": member_id, "group_instance_id": instance, "protocols": protocols, "reason": None} | more

    def join(self, member_id: str = "", instance: str | None = None, version: int = JOIN_VERSION, **more: Any) -> Any:
        return self.side.raw(ApiKey.JOIN_GROUP, version, self.join_request(member_id, instance, **more))

    def joined(self, instance: str | None = None, **more: Any) -> Any:
        """A member that followed MEMBER_ID_REQUIRED, alone in its group."""
        first = self.join(instance=instance, **more)
        return self.join(first.member_id, instance, **more) if first.error_code == 79 else first

    def sync(self, member: Any, assignments: dict[str, bytes] | None = None, version: int = SYNC_VERSION, **more: Any) -> Any:
        rows = [{"member_id": member_id, "assignment": data} for member_id, data in (assignments or {}).items()]
        fields = {"group_id": self.group_id, "generation_id": member.generation_id, "member_id": member.member_id}
        named = {"group_instance_id": None, "protocol_type": "consumer", "protocol_name": "range", "assignments": rows}
        return self.side.ask(ApiKey.SYNC_GROUP, version, fields | named | more)

    def stable(self, instance: str | None = None) -> Any:
        member = self.joined(instance)
        self.sync(member, {member.member_id: b"all"}, group_instance_id=instance)
        return member

    def heartbeat(self, member: Any, **more: Any) -> Any:
        fields = {"group_id": self.group_id, "generation_id": member.generation_id, "member_id": member.member_id}
        return self.side.ask(ApiKey.HEARTBEAT, HEARTBEAT_VERSION, fields | {"group_instance_id": None} | more)

    def leave(self, *members: dict[str, Any], version: int = LEAVE_VERSION) -> Any:
        rows = [{"group_instance_id": None, "reason": None, **member} for member in members]
        single = {"member_id": members[0]["member_id"]} if version < 3 else {}
        return self.side.ask(ApiKey.LEAVE_GROUP, version, {"group_id": self.group_id, "members": rows, **single})

    def commit(self, topic: str, offset: int, member: Any = None, version: int = COMMIT_VERSION, **more: Any) -> Any:
        row = {
            "partition_index": 0,
            "committed_offset": offset,
            "committed_leader_epoch": -1,
            "committed_metadata": more.pop("metadata", ""),
        }
        row |= {name: more.pop(name) for name in ("partition_index", "committed_leader_epoch") if name in more}
        whose = {"generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None, "retention_time": -1}
        if member is not None:
            whose |= {"generation_id_or_member_epoch": member.generation_id, "member_id": member.member_id}
        fields = {"group_id": self.group_id, "topics": [{"name": topic, "partitions": [row]}]} | whose | more
        return self.side.ask(ApiKey.OFFSET_COMMIT, version, fields)

    def offsets(self, topics: dict[str, list[int]] | None, version: int = 7, **more: Any) -> Any:
        rows = None if topics is None else [{"name": name, "partition_indexes": indexes} for name, indexes in topics.items()]
        fields: dict[str, Any] = {"group_id": self.group_id, "topics": rows, "require_stable": False}
        if version >= 8:
            fields = {"groups": [{"group_id": self.group_id, "topics": rows}], "require_stable": False}
        return self.side.ask(ApiKey.OFFSET_FETCH, version, fields | more)

    def describe(self, version: int = 5) -> Any:
        return self.side.ask(ApiKey.DESCRIBE_GROUPS, version, {"groups": [self.group_id], "include_authorized_operations": False})

    def delete(self) -> Any:
        return self.side.ask(ApiKey.DELETE_GROUPS, 2, {"groups_names": [self.group_id]})

    def listed(self, *states: str, version: int = 4, types: list[str] | None = None) -> Any:
        answer = self.side.ask(ApiKey.LIST_GROUPS, version, {"states_filter": list(states), "types_filter": types or []})
        return [row for row in answer["groups"] if row["group_id"] == self.group_id]


def group(name: str, script: Any) -> Case:
    """A script of a group of its own, named after the case."""
    return Case(name, lambda side: script(Group(side, "g-" + name.replace(" ", "-"))))


def plain(one: Group, answer: Any) -> Any:
    return one.side.plain(answer)


def life(one: Group) -> Any:
    """Unknown, joining, syncing, stable, a second member, leaving, empty, dead."""
    seen = [one.describe(), one.listed()]
    first = one.join()
    seen.append(plain(one, first))
    member = one.join(first.member_id)
    seen += [plain(one, member), one.describe(), one.heartbeat(member)]
    seen += [one.sync(member, {member.member_id: b"assigned"}), one.heartbeat(member), one.describe(), one.listed("Stable")]
    seen += [one.leave({"member_id": member.member_id}), one.describe(), one.listed("Empty"), one.delete(), one.describe(), one.listed()]
    return seen


def two_members(one: Group) -> Any:
    """The second joins while the first is stable: a rebalance that both see."""
    leader = one.stable()
    plain(one, leader)
    other = one.side.connect("other")
    other.send(ApiKey.JOIN_GROUP, 9, one.join_request())
    required = other.receive(ApiKey.JOIN_GROUP, 9)
    other.send(ApiKey.JOIN_GROUP, 9, one.join_request(required.member_id))
    seen = [rebalancing(one, leader), one.describe()["groups"][0]["group_state"], one.commit("g-topic", 3, leader)]
    again = one.join(leader.member_id)
    follower = other.receive(ApiKey.JOIN_GROUP, 9)
    seen += [plain(one, again), plain(one, follower)]
    seen.append(one.commit("g-topic", 4, again))
    other.send(ApiKey.SYNC_GROUP, 5, sync_request(one, follower))
    seen.append(one.sync(again, {again.member_id: b"a", follower.member_id: b"b"}))
    seen += [plain(one, other.receive(ApiKey.SYNC_GROUP, 5)), one.heartbeat(follower), one.sync(again), one.describe()]
    seen += [one.leave({"member_id": follower.member_id}), rebalancing(one, again), one.describe()["groups"][0]["group_state"]]
    return seen


def rebalancing(one: Group, member: Any) -> Any:
    """The answer to a heartbeat once the coordinator has begun to rebalance."""
    deadline = time.monotonic() + ANSWER_SECONDS
    while (answer := one.heartbeat(member))["error_code"] == "NONE" and time.monotonic() < deadline:
        time.sleep(0.02)
    return answer


def sync_request(one: Group, member: Any) -> dict[str, Any]:
    fields = {"group_id": one.group_id, "generation_id": member.generation_id, "member_id": member.member_id, "group_instance_id": None}
    return fields | {"protocol_type": "consumer", "protocol_name": "range", "assignments": []}


def static_member(one: Group) -> Any:
    """Leaves and comes back under its name without a rebalance; its old id is fenced."""
    member = one.stable("instance")
    seen = [plain(one, member), one.describe(), one.heartbeat(member, group_instance_id="instance")]
    back = one.join(instance="instance")
    seen += [plain(one, back), one.heartbeat(member, group_instance_id="instance"), one.heartbeat(back, group_instance_id="instance")]
    seen += [one.sync(back, group_instance_id="instance"), one.sync(member, group_instance_id="instance")]
    seen += [one.commit("g-topic", 1, member, group_instance_id="instance"), one.commit("g-topic", 1, back, group_instance_id="instance")]
    seen.append(plain(one, one.join(member.member_id, "instance")))
    seen.append(one.heartbeat(back, group_instance_id="another"))
    seen += [
        one.leave({"member_id": "", "group_instance_id": "another"}),
        one.leave({"member_id": "wrong", "group_instance_id": "instance"}),
    ]
    seen += [one.leave({"member_id": "", "group_instance_id": "instance"}), one.describe()]
    return seen


def static_member_changes(one: Group) -> Any:
    """Another protocol list than before: a rebalance after all."""
    one.stable("instance")
    back = one.join(instance="instance", protocols=[("roundrobin", b"x"), RANGE])
    return plain(one, back), one.describe()["groups"][0]["group_state"]


def wrong_members(one: Group) -> Any:
    member = one.stable()
    stranger, late = member._replace(member_id="stranger"), member._replace(generation_id=member.generation_id + 1)
    early = member._replace(generation_id=member.generation_id - 1)
    seen = [one.heartbeat(each) for each in (stranger, late, early, member._replace(member_id=""))]
    seen += [one.sync(each) for each in (stranger, late, early)]
    seen += [one.commit("g-topic", 1, each) for each in (stranger, late, early, member, None)]
    seen += [one.sync(member, protocol_name="other"), one.sync(member, protocol_type="connect"), one.sync(member, protocol_name=None)]
    seen += [one.leave({"member_id": "stranger"}), one.leave({"member_id": "stranger"}, {"member_id": member.member_id})]
    return seen


def wrong_joins(one: Group) -> Any:
    seen = [one.join(session_timeout=100), one.join(session_timeout=100_000_000), one.join(protocol_type=""), one.join(protocols=[])]
    seen += [one.join("stranger"), one.join("stranger", version=3), one.join(protocols=[], version=3)]
    member = one.stable()
    seen += [
        one.join(protocol_type="connect"),
        one.join(protocols=[("other", b"")]),
        one.join(member.member_id, protocols=[("other", b"")]),
    ]
    return [plain(one, answer) for answer in seen]


def old_join(version: int) -> Script:
    """Before version 4 a member gets in at once."""

    def script(one: Group) -> Any:
        member = one.join(version=version) if version < 4 else one.joined()
        synced = one.sync(member, {member.member_id: b"x"}, version=min(version, 3))
        return plain(one, member), synced, one.leave({"member_id": member.member_id}, version=min(version, 2))

    return script  # type: ignore[return-value]


def rejoining(one: Group) -> Any:
    """A leader that joins again starts a rebalance; a follower whose metadata is the same does not."""
    member = one.stable()
    again = one.join(member.member_id)
    seen = [plain(one, again), one.heartbeat(member), one.heartbeat(again)]
    seen.append(plain(one, one.join(member.member_id, reason="because")))
    return seen


def expiring(one: Group) -> Any:
    """A member that falls silent is taken out after its session timeout."""
    first = one.join(session_timeout=1000)
    member = one.join(first.member_id, session_timeout=1000)
    one.sync(member, {member.member_id: b""})
    deadline = time.monotonic() + ANSWER_SECONDS
    while (state := one.describe()["groups"][0]["group_state"]) != "Empty" and time.monotonic() < deadline:
        time.sleep(0.05)
    return state, one.heartbeat(member), one.commit("g-topic", 1, member)


def simple_commits(one: Group) -> Any:
    """A consumer that assigns itself: offsets without members."""
    none = one.offsets({"g-topic": [0, 1]})
    seen = [none, one.commit("g-topic", 5, metadata="note"), one.commit("g-topic", 3, committed_leader_epoch=0, partition_index=1)]
    seen += [one.offsets({"g-topic": [0, 1, 7], "none": [0]}, version) for version in (1, 2, 3, 5, 6, 7, 8, 9)]
    seen += [one.offsets(None, version) for version in (2, 5, 7, 8, 9)]
    seen += [one.offsets({}), one.describe(), one.listed(), one.listed("Empty"), one.listed("Dead")]
    return seen


def odd_commits(one: Group) -> Any:
    seen = [one.commit("g-none", 5), one.commit("g-topic", 5, partition_index=9), one.commit("g-topic", -1), one.commit("g-topic", -5)]
    seen += [
        one.commit("g-topic", 5, metadata="x" * 4096),
        one.commit("g-topic", 5, metadata="x" * 4097),
        one.commit("g-topic", 5, metadata="\U0001f40d" * 2048),
        one.commit("g-topic", 5, metadata="\U0001f40d" * 2048 + "x"),
        one.commit("g-topic", 5, metadata=None),
    ]
    stranger = Member("stranger", -1)
    seen += [one.commit("g-topic", 5, stranger), one.commit("g-topic", 5, Member("stranger", 4)), one.commit("g-topic", 5, Member("", 4))]
    seen += [one.commit("g-topic", 5, version=version) for version in (1, 2, 3, 5, 6, 7, 9)]
    seen.append(one.offsets(None))
    return seen


class Member:
    def __init__(self, member_id: str, generation_id: int) -> None:
        self.member_id = member_id
        self.generation_id = generation_id


def deletions(one: Group) -> Any:
    seen = [one.delete()]
    one.commit("g-topic", 1)
    member = one.stable()
    seen += [one.delete(), offset_deletion(one, "g-topic", "g-none")]
    one.leave({"member_id": member.member_id})
    seen += [offset_deletion(one, "g-topic"), one.offsets(None)]
    one.commit("g-topic", 1)
    seen += [one.delete(), one.offsets(None), one.delete(), one.listed(), offset_deletion(one, "g-topic")]
    return seen


def offset_deletion(one: Group, *topics: str) -> Any:
    rows = [{"name": topic, "partitions": [{"partition_index": 0}]} for topic in topics]
    return one.side.ask(ApiKey.OFFSET_DELETE, 0, {"group_id": one.group_id, "topics": rows})


def subscribed(one: Group) -> Any:
    """Offsets of a topic that the group reads cannot be deleted."""
    metadata = b"\0\1\0\0\0\1\0\7g-topic\xff\xff\xff\xff\0\0\0\0"
    member = one.joined(protocols=[("range", metadata)])
    one.sync(member, {member.member_id: b""})
    one.commit("g-topic", 1, member)
    return offset_deletion(one, "g-topic", "g-none"), one.offsets(None)


def other_kinds(one: Group) -> Any:
    member = one.joined(protocol_type="connect", protocols=[("default", b"x")])
    synced = one.sync(member, {member.member_id: b"x"}, protocol_type="connect", protocol_name="default")
    return plain(one, member), synced, one.describe(), one.listed(), one.listed("stable"), one.listed("no such state")


def without_a_group(one: Group) -> Any:
    """Requests that name no group, or one that nobody has heard of."""
    unknown = Member("m", 1)
    empty = Group(one.side, "g-without-a-group")
    empty.group_id = ""
    answers = [one.heartbeat(unknown), one.sync(unknown), one.leave({"member_id": "m"}), plain(one, one.join("m"))]
    answers += [empty.heartbeat(unknown), empty.sync(unknown), empty.leave({"member_id": "m"}), plain(one, empty.join())]
    answers += [empty.commit("g-topic", 1), empty.offsets(None), empty.describe(), empty.delete()]
    return answers


def several(one: Group) -> Any:
    """Lists of groups in one request."""
    side = one.side
    one.commit("g-topic", 1)
    groups = {"groups": [one.group_id, "g-nobody"], "include_authorized_operations": True}
    rows = [{"group_id": name, "topics": None} for name in (one.group_id, "g-nobody")]
    return [
        side.ask(ApiKey.DESCRIBE_GROUPS, 5, groups),
        side.ask(ApiKey.OFFSET_FETCH, 8, {"groups": rows, "require_stable": True}),
        one.listed(version=5),
        one.listed(version=5, types=["classic"]),
        one.listed(version=5, types=["consumer"]),
        *(one.listed(version=version) for version in range(5)),
        *(side.ask(ApiKey.DESCRIBE_GROUPS, version, {"groups": [one.group_id]}) for version in range(5)),
        side.ask(ApiKey.DELETE_GROUPS, 2, {"groups_names": [one.group_id, "g-nobody"]}),
    ]


def named_again(one: Group) -> Any:
    """The same group several times in one request."""
    one.commit("g-topic", 1)
    again = [one.group_id] * 3
    return [
        one.side.ask(ApiKey.DESCRIBE_GROUPS, 5, {"groups": again, "include_authorized_operations": False}),
        one.side.ask(ApiKey.OFFSET_FETCH, 8, {"groups": [{"group_id": name, "topics": None} for name in again], "require_stable": True}),
    ]


def coordinators(side: Side) -> Any:
    keys = ["g-a", "g-b", ""]
    return [
        side.ask(ApiKey.FIND_COORDINATOR, 6, {"key_type": 0, "coordinator_keys": keys}),
        side.ask(ApiKey.FIND_COORDINATOR, 4, {"key_type": 7, "coordinator_keys": ["x"]}),
        side.ask(ApiKey.FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": []}),
        *(side.ask(ApiKey.FIND_COORDINATOR, version, {"key": "g-a", "key_type": 0}) for version in range(4)),
        side.ask(ApiKey.FIND_COORDINATOR, 3, {"key": "g-a", "key_type": 5}),
        side.ask(ApiKey.FIND_COORDINATOR, 3, {"key": "", "key_type": 0}),
    ]


CASES = [
    group("life", life),
    group("two members", two_members),
    group("static member", static_member),
    group("static member changes", static_member_changes),
    group("wrong members", wrong_members),
    group("wrong joins", wrong_joins),
    *(group(f"join version {version}", old_join(version)) for version in (0, 1, 2, 3)),
    group("rejoining", rejoining),
    group("expiring", expiring),
    group("simple commits", simple_commits),
    group("odd commits", odd_commits),
    group("deletions", deletions),
    group("subscribed", subscribed),
    group("other kinds", other_kinds),
    group("without a group", without_a_group),
    group("several", several),
    group("named again", named_again),
    Case("coordinators", coordinators),
]


@pytest.fixture(scope="module", autouse=True)
def topic(pair: Pair) -> None:
    def make(side: Side) -> None:
        side.create("g-topic", 2)
        Group(side, "g-first")

    pair.both(make)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_groups(pair: Pair, case: Case) -> None:
    pair.compare(case)
