"""Drives one pure group: keeps its answers, timers and writes, and moves a clock by hand."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.groups import joining, leaving, liveness, syncing
from broker_core.groups.group import Group
from broker_core.groups.messages import (
    Effect,
    GroupRules,
    JoinRequest,
    JoinResult,
    LeavingMember,
    Moved,
    Protocol,
    ReplyJoin,
    ReplySync,
    StartTimer,
    StopTimer,
    Store,
    SyncRequest,
    SyncResult,
    TimerKey,
    TimerKind,
)
from broker_core.groups.states import GroupState

SESSION_MS = 10_000
REBALANCE_MS = 60_000
RANGE = (Protocol("range", b"meta"),)


class GroupDriver:
    """Tickets are strings the test chooses; `answers[ticket]` is what was replied to it."""

    def __init__(self, *, max_size: int = 1000, initial_delay_ms: int = 3000, max_pending: int = 100) -> None:
        self.now_ms = 1_000_000
        self.rules = GroupRules(max_size, initial_delay_ms, max_pending)
        self.group = Group("g", self.now_ms)
        self.answers: dict[str, JoinResult | SyncResult] = {}
        self.timers: dict[TimerKey, tuple[int, int]] = {}
        self.stores: list[Store] = []
        self.moves: list[Moved] = []
        self._ids = 0

    @property
    def state(self) -> GroupState:
        return self.group.state

    def apply(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case ReplyJoin(ticket, result) | ReplySync(ticket, result):
                    assert ticket not in self.answers, f"{ticket} is answered twice"
                    self.answers[ticket] = result
                case StartTimer(key, serial, delay_ms):
                    self.timers[key] = (self.now_ms + delay_ms, serial)
                case StopTimer(key):
                    del self.timers[key]
                case Store():
                    self.stores.append(effect)
                case Moved():
                    self.moves.append(effect)

    def advance(self, delay_ms: int) -> None:
        """Moves the clock and rings what becomes due, in order of time."""
        end_ms = self.now_ms + delay_ms
        while due := sorted(
            (at, serial, key) for key, (at, serial) in self.timers.items() if at <= end_ms and key.kind is not TimerKind.RETENTION
        ):
            at_ms, serial, key = due[0]
            self.now_ms = max(self.now_ms, at_ms)
            del self.timers[key]
            self.apply(liveness.on_timer(self.group, key, serial, self.now_ms))
        self.now_ms = end_ms

    def join(
        self,
        ticket: str,
        member_id: str = "",
        *,
        instance_id: str | None = None,
        protocols: tuple[Protocol, ...] = RANGE,
        protocol_type: str = "consumer",
        requires_member_id: bool = False,
        can_skip_assignment: bool = True,
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        client_id: str = "client",
    ) -> JoinResult | None:
        """The answer, if there is one at once. Member ids given out are m1, m2, …"""
        self._ids += not member_id
        request = JoinRequest(
            "g", member_id, instance_id, client_id, "/127.0.0.1", session_ms, rebalance_ms, protocol_type, protocols, requires_member_id,
            can_skip_assignment,
        )  # fmt: skip
        self.apply(joining.join(self.group, request, ticket, f"m{self._ids}", rules=self.rules, now_ms=self.now_ms))
        return self.answers.get(ticket)

    def sync(
        self,
        ticket: str,
        member_id: str,
        assignments: dict[str, bytes] | None = None,
        *,
        generation: int | None = None,
        instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> SyncResult | None:
        wanted = self.group.generation if generation is None else generation
        request = SyncRequest("g", member_id, instance_id, wanted, protocol_type, protocol_name, tuple((assignments or {}).items()))
        self.apply(syncing.sync(self.group, request, ticket, self.now_ms))
        return self.answers.get(ticket)

    def stored(self, error: ErrorCode = ErrorCode.NONE) -> None:
        """The oldest write in flight ends."""
        store = self.stores.pop(0)
        self.apply(syncing.stored(self.group, store.token, error, self.now_ms))

    def heartbeat(self, member_id: str, *, generation: int | None = None, instance_id: str | None = None) -> ErrorCode:
        wanted = self.group.generation if generation is None else generation
        error, effects = liveness.heartbeat(self.group, member_id, instance_id, wanted)
        self.apply(effects)
        return error

    def admit_commit(self, member_id: str, *, generation: int | None = None, instance_id: str | None = None) -> ErrorCode:
        wanted = self.group.generation if generation is None else generation
        error, effects = liveness.admit_commit(self.group, member_id, instance_id, wanted)
        self.apply(effects)
        return error

    def leave(self, *members: LeavingMember | str) -> list[ErrorCode]:
        leaving_members = [LeavingMember(one) if isinstance(one, str) else one for one in members]
        results, effects = leaving.leave(self.group, leaving_members, self.now_ms)
        self.apply(effects)
        return [result.error for result in results]

    def unload(self) -> None:
        self.apply(leaving.unload(self.group, self.now_ms))

    # -- ready-made situations ------------------------------------------------------------------------------------------

    def completing(self, count: int = 2) -> list[str]:
        """A group of `count` dynamic members that have joined its first generation; their ids, the leader's first."""
        for index in range(count):
            self.join(f"first-{index}")
        self.advance(self.rules.initial_delay_ms)
        while self.state is GroupState.PREPARING_REBALANCE:
            self.advance(self.rules.initial_delay_ms)
        return [self.answers[f"first-{index}"].member_id for index in range(count)]

    def stable(self, count: int = 2) -> list[str]:
        ids = self.completing(count)
        for index, member_id in enumerate(ids):
            self.sync(f"first-sync-{index}", member_id, {one: one.encode() for one in ids} if index == 0 else None)
        self.stored()
        assert self.state is GroupState.STABLE
        return ids

    def preparing(self, count: int = 2) -> list[str]:
        """A stable group of `count` members that a further one (ticket "newcomer") has just joined."""
        ids = self.stable(count)
        self.join("newcomer")
        assert self.state is GroupState.PREPARING_REBALANCE
        return ids
