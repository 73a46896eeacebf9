"""Which brokers came, went or came back between two looks at `/brokers/ids`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from broker_core.controller.context import Leadership
from broker_core.model import BrokerInfo


class MembershipChange(Struct, frozen=True):
    """Broker ids, sorted. `bounced` ones registered again (larger czxid) without being seen gone, `renewed` ones from the same process,
    whose session had expired; `moved` changed their address."""

    started: tuple[int, ...]
    bounced: tuple[int, ...]
    renewed: tuple[int, ...]
    failed: tuple[int, ...]
    moved: tuple[int, ...]

    def __bool__(self) -> bool:
        return bool(self.started or self.bounced or self.renewed or self.failed or self.moved)


def compare(known: Mapping[int, BrokerInfo], registered: Mapping[int, BrokerInfo]) -> MembershipChange:
    both = sorted(known.keys() & registered.keys())
    again = [broker_id for broker_id in both if registered[broker_id].epoch > known[broker_id].epoch]
    renewed = tuple(broker_id for broker_id in again if registered[broker_id].process_epoch == known[broker_id].process_epoch)
    return MembershipChange(
        tuple(sorted(registered.keys() - known.keys())),
        tuple(broker_id for broker_id in again if broker_id not in renewed),
        renewed,
        tuple(sorted(known.keys() - registered.keys())),
        tuple(broker_id for broker_id in both if broker_id not in again and registered[broker_id] != known[broker_id]),
    )


def restarted_unseen(brokers: Mapping[int, BrokerInfo], remembered: Mapping[int, int], leadership: Iterable[Leadership]) -> list[int]:
    """Brokers that a partition's state counts on and that were started since the last controller looked (spec B11).

    `remembered` are the process epochs that it had acted on. They went and came back while no controller looked. What they had not
    flushed may be gone, so they must leave the ISR and their leaderships end, as if they had been seen gone. One whose session
    expired, as all do when the store stands still, has everything: were it taken for one of these, it would leave the ISR before a
    member that is really gone, and that one would lead alone once it is back, whatever it has lost.
    """
    members = {broker_id for row in leadership for broker_id in (row.state.leader, *row.state.isr)}
    return sorted(
        broker_id for broker_id in members if broker_id in brokers and remembered.get(broker_id) != brokers[broker_id].process_epoch
    )
