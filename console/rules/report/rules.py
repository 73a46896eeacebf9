"""The rules of the health report by number. A number is given once: one that goes is not given again."""

from __future__ import annotations

from console.rules.report import (
    again,
    balance,
    brokers,
    checkpoints,
    folders,
    lag,
    loss_ahead,
    old_clients,
    own_clients,
    partitions,
    settings,
    throttles,
)
from console.rules.report.finding import Rule

RULES: tuple[Rule, ...] = (
    Rule("HW-001", "offline", "Partitions without a leader", "bad", "No leader: neither reads nor writes.", partitions.offline),
    Rule(
        *("HW-002", "under_min_isr", "Under min ISR", "bad"),
        "Fewer replicas in sync than min.insync.replicas: acks=all is refused.",
        partitions.under_min_isr,
    ),
    Rule(
        *("HW-003", "at_min_isr", "At min ISR", "warn"),
        "Under-replicated, and just as many in sync as min.insync.replicas wants: the next loss stops writes.",
        partitions.at_min_isr,
    ),
    Rule(
        *("HW-004", "under_replicated", "Under-replicated", "warn"),
        "Fewer copies in sync than are wanted; what a move adds is not wanted yet.",
        partitions.under_replicated,
    ),
    Rule("HW-005", "unknown", "Partitions of unknown state", "warn", "The leader is registered and silent.", partitions.unknown),
    Rule("HW-006", "brokers", "Brokers that are away", "warn", "Down, or registered and silent.", brokers.away),
    Rule(
        *("HW-007", "leader_imbalance", "Leader balance", "notice"),
        "A broker leads a third fewer partitions than it is preferred for, or none.",
        balance.leaders,
    ),
    Rule(
        *("HW-008", "replica_imbalance", "Replica balance", "notice"),
        "A broker is a third away from an equal share of replicas, and by 3 at least.",
        balance.replicas,
    ),
    Rule(
        *("HW-009", "disk_imbalance", "Disk balance", "notice"),
        "A broker is a third away from an equal share of bytes, and by 1 GiB at least.",
        balance.disk,
    ),
    Rule(
        *("HW-010", "isr_flaps", "ISR flapping", "warn"),
        "A broker left the same ISR three times within a day; not judged before an hour of events is known.",
        again.isr_flaps,
    ),
    Rule(
        *("HW-011", "partition_skew", "Partition sizes", "notice"),
        "A partition of 1 GiB or more is over three times the mean of its topic.",
        balance.partition_sizes,
    ),
    Rule("HW-012", "lag", "Group lag", "warn", "A group is behind, out of its own rhythm.", lag.behind),
    Rule(
        *("HW-013", "loss_ahead", "Loss ahead", "bad"),
        "Retention has deleted records that a group had not read, or may within a day (bad: within 2 h).",
        loss_ahead.loss_ahead,
    ),
    Rule("HW-014", "data_folders", "Data folders", "bad", "Offline, full within a day, or under 5 % free.", folders.folders),
    Rule(
        *("HW-015", "throttles", "Throttles left over", "warn"),
        "Rates on brokers or lists of throttled replicas on topics that no job under way has set.",
        throttles.left_over,
    ),
    Rule(
        *("HW-016", "no_loss", "Settings against loss", "warn"),
        "Fewer than 3 replicas, min.insync.replicas under 2 or not below the replicas, unclean elections.",
        settings.topics,
    ),
    Rule("HW-017", "acks", "Producers' acks", "notice", "Producers were seen with acks=0 or 1.", settings.producers),
    Rule(
        *("HW-018", "controller_churn", "Controller churn", "bad"),
        "The controller moved three times within a day (bad: ten); not judged before an hour of events is known.",
        again.controller_churn,
    ),
    Rule("HW-019", "clients", "Clients of our own", "warn", "One got nothing done for 60 s although it was asked to.", own_clients.silent),
    Rule(
        *("HW-020", "old_clients", "Old clients", "notice"),
        "A client has sent requests within a day of versions that Kafka 4.0 takes no more (KIP-896).",
        old_clients.old_clients,
    ),
    Rule(
        *("HW-021", "checkpoints", "Stale checkpoints", "warn"),
        "A checkpoint of a data folder has not been brought up to date for five minutes longer than its interval.",
        checkpoints.stale,
    ),
)
