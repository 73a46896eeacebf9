"""The in-sync replicas of a led partition and the one change of them that may be under way (KIP-497's states).

    CommittedIsr ──a follower caught up──▶ PendingExpandIsr ──written──▶ CommittedIsr (newcomer in)
        │                                    └──refused: a member is gone──▶ CommittedIsr (as before)
        └──a follower fell behind────▶ PendingShrinkIsr ──written──▶ CommittedIsr (without it)
                                             └──refused: a member is gone──▶ CommittedIsr (as before)
    any ──new LeaderAndIsr──▶ CommittedIsr (as the controller says)

A change that is refused because the state is another by now stays pending until the next LeaderAndIsr: another authority has spoken.

The *maximal* ISR is what the leader must wait for: every set that the store may hold at this moment is a part of it. A
newcomer counts from the moment the write is sent; one who leaves counts until the write is known to be done.
Broker ids are kept as tuples in the order in which they joined.
"""

from __future__ import annotations

from msgspec import Struct


class CommittedIsr(Struct, frozen=True):
    """The store holds exactly `isr`, as far as this leader knows."""

    isr: tuple[int, ...]

    @property
    def maximal(self) -> tuple[int, ...]:
        return self.isr

    @property
    def smallest(self) -> tuple[int, ...]:
        return self.isr

    @property
    def in_flight(self) -> bool:
        return False


class PendingExpandIsr(Struct, frozen=True):
    """`newcomer` is being added to the committed `isr`."""

    isr: tuple[int, ...]
    newcomer: int

    @property
    def maximal(self) -> tuple[int, ...]:
        return (*self.isr, self.newcomer)

    @property
    def smallest(self) -> tuple[int, ...]:
        return self.isr

    @property
    def proposed(self) -> tuple[int, ...]:
        return self.maximal

    @property
    def in_flight(self) -> bool:
        return True


class PendingShrinkIsr(Struct, frozen=True):
    """`leaving` are being taken out of the committed `isr`."""

    isr: tuple[int, ...]
    leaving: tuple[int, ...]

    @property
    def maximal(self) -> tuple[int, ...]:
        return self.isr

    @property
    def smallest(self) -> tuple[int, ...]:
        return self.proposed

    @property
    def proposed(self) -> tuple[int, ...]:
        return tuple(member for member in self.isr if member not in self.leaving)

    @property
    def in_flight(self) -> bool:
        return True


PendingChange = PendingExpandIsr | PendingShrinkIsr
IsrState = CommittedIsr | PendingExpandIsr | PendingShrinkIsr


def may_join(follower_leo: int, high_watermark: int, epoch_start: int) -> bool:
    """Whether a follower's log reaches far enough to become a member.

    At the high watermark it has all that is known to be committed; but right after an election the leader's own log may
    hold more committed records than its high watermark says, all of them below the start of its epoch (KAFKA-7128).
    """
    return follower_leo >= high_watermark and follower_leo >= epoch_start


def expand(state: IsrState, newcomer: int) -> PendingExpandIsr | None:
    """The pending state for one more member; None while a change is under way or the broker is in already."""
    if not isinstance(state, CommittedIsr) or newcomer in state.isr:
        return None
    return PendingExpandIsr(state.isr, newcomer)


def shrink(state: IsrState, leaving: tuple[int, ...]) -> PendingShrinkIsr | None:
    """The pending state without `leaving`; None while a change is under way or when none of them is a member."""
    if not isinstance(state, CommittedIsr):
        return None
    members = tuple(member for member in leaving if member in state.isr)
    return PendingShrinkIsr(state.isr, members) if members else None
