"""All handlers: adding a file here is all it takes to serve and advertise a key."""

from __future__ import annotations

from broker_core.handlers import (
    alter_configs,
    alter_partition_reassignments,
    api_versions,
    controlled_shutdown,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    describe_producers,
    elect_leaders,
    fetch,
    incremental_alter_configs,
    leader_and_isr,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_for_leader_epoch,
    produce,
    state_feed,
    stop_replica,
    update_metadata,
)
from broker_core.handlers.registry import Registry

MODULES = (
    alter_configs,
    alter_partition_reassignments,
    api_versions,
    controlled_shutdown,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    describe_producers,
    elect_leaders,
    fetch,
    incremental_alter_configs,
    leader_and_isr,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_for_leader_epoch,
    produce,
    state_feed,
    stop_replica,
    update_metadata,
)


def full_registry() -> Registry:
    """The registry of a broker."""
    return Registry(module.handle for module in MODULES)
