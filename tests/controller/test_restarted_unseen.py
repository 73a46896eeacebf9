"""A broker that was back before any controller saw it gone is found by its registration's age (REPLICATION B11, KIP-380)."""

from __future__ import annotations

from broker_core.controller.context import Leadership
from broker_core.controller.membership import restarted_unseen
from broker_core.model import BrokerInfo, LeaderAndIsr


def state(leader: int, *isr: int, zxid: int) -> Leadership:
    return Leadership(LeaderAndIsr(leader, 0, isr), 1, zxid)


def test_who_registered_after_a_state_that_counts_on_it_was_written() -> None:
    brokers = {broker_id: BrokerInfo(broker_id, (), None, epoch) for broker_id, epoch in ((1, 50), (2, 20), (3, 40))}
    assert restarted_unseen(brokers, [state(2, 2, 3, zxid=45), state(1, 1, 2, zxid=60)]) == []
    assert restarted_unseen(brokers, [state(2, 2, 1, 3, zxid=45)]) == [1]
    assert restarted_unseen(brokers, [state(1, 1, zxid=30), state(2, 2, 3, zxid=30)]) == [1, 3]
    assert restarted_unseen(brokers, [state(-1, 9, zxid=1)]) == []
