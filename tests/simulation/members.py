"""A consumer group under test: members that join, share the partitions out, commit and look at what is committed (spec B19).

- A partition has at most one owner in a generation.
- What is acknowledged as committed never goes back. Commits are numbered, so a fetch that begins after number n was
  acknowledged may not find less, unless an older commit of the same generation was left without an answer: it may still
  arrive, as in Kafka.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from broker_core.errors import ErrorCode
from broker_core.protocol.api import ApiKey
from broker_core.seams import Node
from tests.simulation.workload import call

GROUP = "g"
PROTOCOL = "numbers"
SESSION_MS = 6_000
REBALANCE_MS = 5_000
JOIN_TIMEOUT_MS = 9_000
TIMEOUT_MS = 3_000
BEAT_MS = 900.0
PAUSE_MS = 150.0
REJOIN = (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID)


@dataclass
class GroupHistory:
    """What members were told. `acked[p]` is (number, generation) of the highest commit acknowledged."""

    topic: str
    partitions: int
    violations: list[str] = field(default_factory=list)
    acked: dict[int, tuple[int, int]] = field(default_factory=dict)
    unanswered: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    owners: dict[tuple[int, int], str] = field(default_factory=dict)
    commits: int = 0
    numbers: int = 0
    coordinator: int = -1
    failovers: int = 0
    stopped: bool = False

    def owned(self, generation: int, partition: int, member_id: str) -> None:
        if self.owners.setdefault((generation, partition), member_id) != member_id:
            owner = self.owners[generation, partition]
            self.violations.append(f"partition {partition} of the group has two owners in generation {generation}: {owner}, {member_id}")

    def coordinated_by(self, broker_id: int) -> None:
        self.failovers += self.coordinator not in (-1, broker_id)
        self.coordinator = broker_id

    def committed(self, partition: int, number: int, generation: int) -> None:
        self.commits += 1
        self.acked[partition] = max(self.acked.get(partition, (-1, -1)), (number, generation))

    def found(self, partition: int, number: int, floor: tuple[int, int]) -> None:
        """`floor` is what was acknowledged when the fetch began."""
        if number < floor[0] and (number, floor[1]) not in self.unanswered.get(partition, []):
            self.violations.append(f"the group's offset of partition {partition} went back from {floor[0]} to {number}")


class Member:
    """One place in the group; `crash` ends it without a word, then another one takes the place."""

    def __init__(self, node: Node, brokers: tuple[str, ...], history: GroupHistory) -> None:
        self._node = node
        self._brokers = brokers
        self._history = history
        self._coordinator = ""
        self._id = ""
        self.generation = -1
        self.mine: list[int] = []
        self.crashed = False

    async def run(self) -> None:
        while not self._over:
            if not self._coordinator:
                await self._find()
            elif self.generation < 0:
                await self._join()
            else:
                await self._take_part()
            await self._node.clock.sleep(PAUSE_MS)

    async def look(self) -> bool:
        """Whether what is committed of all partitions could be read; it is checked."""
        if not self._coordinator:
            await self._find()
        return await self._fetch(list(range(self._history.partitions)))

    @property
    def _over(self) -> bool:
        return self.crashed or self._history.stopped

    async def _ask(self, key: ApiKey, version: int, payload: dict[str, Any], timeout_ms: int = TIMEOUT_MS) -> Any:
        answer = await call(self._node, self._coordinator, key, version, {"group_id": GROUP, **payload}, timeout_ms)
        if answer is None:
            self._coordinator = ""
        return answer

    def _is_fine(self, code: int) -> bool:
        """Takes an error in: joins again or looks for the coordinator."""
        if code in REJOIN:
            self._leave()
            self._id = "" if code == ErrorCode.UNKNOWN_MEMBER_ID else self._id
        elif code != ErrorCode.NONE:
            self._coordinator = ""
        return code == ErrorCode.NONE

    def _leave(self) -> None:
        self.generation, self.mine = -1, []

    async def _find(self) -> None:
        broker = self._brokers[int(self._node.entropy.random() * len(self._brokers))]
        answer = await call(self._node, broker, ApiKey.FIND_COORDINATOR, 3, {"key": GROUP, "key_type": 0}, TIMEOUT_MS)
        if answer is not None and answer.error_code == ErrorCode.NONE:
            self._coordinator = f"b{answer.node_id}"
            self._history.coordinated_by(answer.node_id)

    async def _join(self) -> None:
        fields = {"session_timeout": SESSION_MS, "rebalance_timeout": REBALANCE_MS, "protocol_type": "test", "member_id": self._id}
        protocols = [{"name": PROTOCOL, "metadata": b""}]
        joined = await self._ask(ApiKey.JOIN_GROUP, 3, {**fields, "protocols": protocols}, JOIN_TIMEOUT_MS)
        if joined is None or not self._is_fine(joined.error_code):
            return
        self._id = joined.member_id
        await self._sync(joined.generation_id, sorted(member.member_id for member in joined.members))

    async def _sync(self, generation: int, members: list[str]) -> None:
        """`members` is empty but for the leader, who shares out."""
        shares = [
            {"member_id": member_id, "assignment": bytes(range(number, self._history.partitions, len(members)))}
            for number, member_id in enumerate(members)
        ]
        payload = {"generation_id": generation, "member_id": self._id, "assignments": shares}
        synced = await self._ask(ApiKey.SYNC_GROUP, 3, payload, JOIN_TIMEOUT_MS)
        if synced is None or not self._is_fine(synced.error_code) or self._over:
            return
        mine = list(bytes(synced.assignment))
        for partition in mine:
            self._history.owned(generation, partition, self._id)
        if await self._fetch(mine):
            self.generation, self.mine = generation, mine

    async def _take_part(self) -> None:
        """One beat, one commit of all that is owned, and a look at what was committed."""
        beat = await self._ask(ApiKey.HEARTBEAT, 3, {"generation_id": self.generation, "member_id": self._id})
        if beat is not None and self._is_fine(beat.error_code) and self.mine and not self._over:
            await self._commit()
            if self._coordinator and self.generation >= 0:
                await self._fetch(self.mine)
        await self._node.clock.sleep(BEAT_MS)

    async def _commit(self) -> None:
        history, generation, mine = self._history, self.generation, self.mine
        history.numbers += 1
        number = history.numbers
        rows = [{"partition_index": partition, "committed_offset": number, "committed_metadata": ""} for partition in mine]
        topics = [{"name": history.topic, "partitions": rows}]
        payload = {"generation_id_or_member_epoch": generation, "member_id": self._id, "topics": topics}
        for partition in mine:
            history.unanswered.setdefault(partition, []).append((number, generation))
        answer = await self._ask(ApiKey.OFFSET_COMMIT, 7, payload)
        if answer is None:
            return
        for row in answer.topics[0].partitions:
            if self._is_fine(row.error_code):
                history.unanswered[row.partition_index].remove((number, generation))
                history.committed(row.partition_index, number, generation)

    async def _fetch(self, partitions: list[int]) -> bool:
        """Looks at committed offsets; whether they could be read."""
        if not partitions or not self._coordinator:
            return not partitions
        floors = {partition: self._history.acked.get(partition, (-1, -1)) for partition in partitions}
        payload = {"topics": [{"name": self._history.topic, "partition_indexes": partitions}], "require_stable": True}
        answer = await self._ask(ApiKey.OFFSET_FETCH, 7, payload)
        if answer is None or not self._is_fine(answer.error_code):
            return False
        rows = answer.topics[0].partitions
        for row in rows:
            if row.error_code == ErrorCode.NONE:
                self._history.found(row.partition_index, row.committed_offset, floors[row.partition_index])
        return all(row.error_code == ErrorCode.NONE for row in rows)


class Group:
    """The members and their places; another one follows a crashed one."""

    def __init__(self, topic: str, partitions: int, brokers: tuple[str, ...]) -> None:
        self.history = GroupHistory(topic, partitions)
        self.members: dict[int, Member] = {}
        self._brokers = brokers

    async def take_place(self, node: Node, place: int) -> None:
        self.members[place] = member = Member(node, self._brokers, self.history)
        await member.run()

    async def read_at_last(self, node: Node) -> bool:
        """What is committed at the very end, once it can be read."""
        reader = Member(node, self._brokers, self.history)
        while not await reader.look():
            await node.clock.sleep(PAUSE_MS)
        return True

    @property
    def is_settled(self) -> bool:
        """All members are in one generation and own all partitions between them."""
        generations = {member.generation for member in self.members.values()}
        owned = sorted(partition for member in self.members.values() for partition in member.mine)
        return len(generations) == 1 and -1 not in generations and owned == list(range(self.history.partitions))
