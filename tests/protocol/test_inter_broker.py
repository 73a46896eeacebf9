"""Which versions of requests brokers send each other."""

from __future__ import annotations

import pytest

from broker_core.config.inter_broker import inter_broker_protocol
from broker_core.config.versions import rank
from broker_core.errors import ConfigError
from broker_core.handlers.registry import full_registry
from broker_core.protocol.api import ApiKey
from broker_core.protocol.inter_broker import version_between_brokers

STEPS = {
    "2.7-IV1": {ApiKey.FETCH: 12, ApiKey.LIST_OFFSETS: 5, ApiKey.WRITE_TXN_MARKERS: 0, ApiKey.LEADER_AND_ISR: 4},
    "2.7-IV2": {ApiKey.FETCH: 12, ApiKey.ALTER_PARTITION: 0, ApiKey.UPDATE_METADATA: 6, ApiKey.STOP_REPLICA: 3},
    "2.8": {ApiKey.LIST_OFFSETS: 6, ApiKey.WRITE_TXN_MARKERS: 1, ApiKey.LEADER_AND_ISR: 5, ApiKey.UPDATE_METADATA: 7},
    "3.0": {ApiKey.FETCH: 12, ApiKey.LIST_OFFSETS: 7, ApiKey.CONTROLLED_SHUTDOWN: 3},
    "3.1": {ApiKey.FETCH: 13, ApiKey.ALTER_PARTITION: 0},
    "3.2.3": {ApiKey.LEADER_AND_ISR: 6, ApiKey.ALTER_PARTITION: 1},
    "3.3": {ApiKey.ALTER_PARTITION: 2},
    "3.5-IV0": {ApiKey.FETCH: 14, ApiKey.LIST_OFFSETS: 8, ApiKey.ALTER_PARTITION: 2},
    "3.5": {ApiKey.FETCH: 15, ApiKey.ALTER_PARTITION: 3},
    "3.7": {ApiKey.FETCH: 16},
    "3.9": {ApiKey.FETCH: 17, ApiKey.LIST_OFFSETS: 9, ApiKey.LEADER_AND_ISR: 7, ApiKey.UPDATE_METADATA: 8, ApiKey.STOP_REPLICA: 4},
    "4.0-IV1": {ApiKey.FETCH: 17},
}


@pytest.mark.parametrize("spoken", STEPS)
def test_versions_of_each_step(spoken: str) -> None:
    """As Kafka's MetadataVersion and its controller choose them."""
    protocol = inter_broker_protocol(spoken)
    assert {key: version_between_brokers(protocol, key) for key in STEPS[spoken]} == STEPS[spoken]


def test_all_that_is_sent_is_served() -> None:
    """By whatever broker of ours, whatever it speaks itself."""
    registry = full_registry()
    for spoken in STEPS:
        protocol = inter_broker_protocol(spoken)
        for key in ApiKey:
            try:
                version = version_between_brokers(protocol, key)
            except ValueError:
                continue
            assert registry.find(key, version) is not None, (spoken, key)


def test_what_leaders_and_controllers_rely_on() -> None:
    facts = {
        spoken: (protocol.alters_partitions, protocol.has_topic_ids, protocol.fetches_by_topic_id, protocol.has_leader_recovery)
        for spoken in STEPS
        for protocol in (inter_broker_protocol(spoken),)
    }
    assert facts["2.7-IV1"] == (False, False, False, False)
    assert facts["2.7-IV2"] == (True, False, False, False)
    assert facts["2.8"] == facts["3.0"] == (True, True, False, False)
    assert facts["3.1"] == (True, True, True, False)
    assert facts["3.2.3"] == facts["3.9"] == (True, True, True, True)
    with pytest.raises(ValueError, match="ALTER_PARTITION"):
        version_between_brokers(inter_broker_protocol("2.7-IV1"), ApiKey.ALTER_PARTITION)


def test_versions_have_an_order() -> None:
    order = ["2.6", "2.7-IV0", "2.7-IV1", "2.7-IV2", "2.8-IV0", "2.8-IV1", "3.0", "3.9", "4.0-IV0"]
    assert sorted(order, key=rank, reverse=True) == order[::-1]
    assert rank("2.7") == rank("2.7-IV2") == rank("2.7.1")
    assert rank("3.9") == rank("3.9-IV0")


@pytest.mark.parametrize("spoken", ["0.8.0", "2.6", "2.7-IV0"])
def test_what_is_too_old_to_be_spoken(spoken: str) -> None:
    with pytest.raises(ConfigError, match=r"too old to be spoken here: 2\.7-IV1 is the oldest"):
        inter_broker_protocol(spoken)


@pytest.mark.parametrize("spoken", ["", "3", "9.9", "2.7-IV3", "x" * 10_000])
def test_what_is_no_version(spoken: str) -> None:
    with pytest.raises(ConfigError, match=r"inter\.broker\.protocol\.version .{0,110}is no version of Kafka"):
        inter_broker_protocol(spoken)
