"""What the controller makes of a partition when a broker dies, or shuts down in an orderly way (spec R8).

The controller's rule once more, since the console knows nothing of the controller; a test holds the two together over generated cases.

After a death, who leads is asked first: where the leader is online it stays; else the first of the assignment who is online and in the
ISR leads, and whoever is offline leaves the ISR; else, where the topic allows it, the first who is online at all, alone. Then the dead
broker leaves the ISR, unless it is the last in it: it alone has everything that was acknowledged.

A controlled shutdown hands over what the broker leads while it still runs, if somebody else in the ISR is online, and takes it out of
the other ISRs; what could not be handed over is decided as by a death once it has ended.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct


class State(Struct, frozen=True, gc=False):
    """`leader` is None where nobody leads."""

    leader: int | None
    isr: tuple[int, ...]


def after_death(broker: int, now: State, replicas: tuple[int, ...], online: Collection[int], *, unclean: bool) -> State:
    """`replicas` in the assignment's order; `online`: who runs and has its data folder (the broker itself does not count)."""
    left = [replica for replica in replicas if replica in online and replica != broker]
    if now.leader in left:
        return State(now.leader, _without(broker, now.isr))
    in_sync = [replica for replica in left if replica in now.isr]
    if in_sync:
        return State(in_sync[0], tuple(member for member in now.isr if member in left))
    if unclean and left:
        return State(left[0], (left[0],))
    return State(None, _without(broker, now.isr))


def after_shutdown(broker: int, now: State, replicas: tuple[int, ...], online: Collection[int], *, unclean: bool) -> State:
    handed = now if len(replicas) < 2 or broker not in replicas else _handed_over(broker, now, replicas, online)
    return after_death(broker, handed, replicas, online, unclean=unclean)


def _handed_over(broker: int, now: State, replicas: tuple[int, ...], online: Collection[int]) -> State:
    if now.leader != broker:
        return State(now.leader, _without(broker, now.isr))
    staying = [replica for replica in replicas if replica in online and replica in now.isr and replica != broker]
    return State(staying[0], tuple(member for member in now.isr if member != broker)) if staying else now


def _without(broker: int, isr: tuple[int, ...]) -> tuple[int, ...]:
    """The last member stays."""
    return isr if isr == (broker,) else tuple(member for member in isr if member != broker)
