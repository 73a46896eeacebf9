"""One simulated run: four brokers, clients, faults by the seed, then peace, then the verdict.

    outcome = run(seed=7)
    assert not outcome.violations

The profile is the safe one: replication factor 3, min.insync.replicas 2, acks=all, no unclean election. Producers, readers
and a consumer group work all the time; partitions are moved.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest.mock import patch

from broker_core.config import BrokerConfig
from broker_core.controller import backlog
from broker_core.model import TopicPartition
from broker_core.replication import roles
from broker_core.replication.flaws import NO_FLAWS, Flaws
from broker_core.transactions import transaction
from tests.simulation import alteration_faults, control_faults, planted, transaction_history, transactions
from tests.simulation.alteration_faults import AlterationFaults
from tests.simulation.checks import Watch, final_violations, running
from tests.simulation.committed_reader import CommittedReader
from tests.simulation.control_faults import ControlFaults
from tests.simulation.faults import DISK_KINDS, KINDS, SCENARIOS, Faults
from tests.simulation.lost_replies import LostReplies
from tests.simulation.members import Group
from tests.simulation.moves import Operator, assigned, is_moving
from tests.simulation.suspicions import WrongSuspicions
from tests.simulation.transaction_history import TransactionHistory
from tests.simulation.transactional_producer import TransactionalProducer
from tests.simulation.workload import Client, History, produce, produce_ahead, read
from tests.support.broker_cluster import BrokerCluster

TOPIC = "t"
BROKERS = 4
FACTOR = 3
PARTITIONS = 2
MEMBERS = 2
WRITERS = 4
"""Of those that write in transactions, where there are some: two by two with one transactional id."""
FAULTS = 12
FAULT_EVERY_MS = 3_000.0
TROUBLE_ENDS_MS = 12_000.0
RECOVERY_MS = 60_000.0

FOLDERS_OFFLINE = "data folders offline"
_EVENTS = {
    "Broker %d is the controller of epoch %d": "controllers elected",
    "log truncated": "truncations",
    "ISR change withdrawn": "ISR changes withdrawn",
    "AlterPartition was not answered": "ISR changes not answered",
    "AlterPartition refused": "ISR changes refused",
    "Reassignment of %s to %s completed": "reassignments completed",
    "leaderships handed over": "leaderships handed over",
    "log write failed": "log writes failed",
    "the data folder is offline until this broker is restarted": FOLDERS_OFFLINE,
    "Broker %d cannot serve %s: their folder failed": "replicas offline by their folder",
    "Brokers restarted between two controllers: %s": "restarts unseen by a controller",
    "The registration of this broker's session 0x%x, which is dead, is deleted": "fast restarts",
    "The process of broker %d is gone, as most brokers see; acted on before its session ends": "deaths agreed on",
    "The office of broker %d, whose process is gone, is free before its session ends": "offices freed",
}
_OTHER_EVENTS = (
    *("controller failovers", "leaders elected", "ISR shrinks", "ISR expands", "sessions expired", "coordinator failovers"),
    *("offsets committed", "control requests before the registration", "reassignments accepted", "reassignments cancelled"),
    "controlled shutdowns completed",
)
_OF_SUSPICIONS = {
    "Broker %d answers again and is taken back": "taken back",
    "Broker %d is left to its session: too few brokers still say that its process is gone": "left to its session",
}
"""Seldom without wrong suspicions."""
COUNTED = (*KINDS, *SCENARIOS, *control_faults.KINDS, *alteration_faults.KINDS, *_EVENTS.values(), *_OTHER_EVENTS)
"""Everything that a run counts; over forty seeds none of it may be missing."""


@dataclass
class Outcome:
    seed: int
    digest: str = ""
    acked: int = 0
    steps: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)


class EventCounter(logging.Handler):
    """Counts what brokers log: their events are constant strings."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        values: dict[str, Any] = record.__dict__
        if record.msg in _OF_SUSPICIONS:
            self.counts[_OF_SUSPICIONS[record.msg]] += 1
        elif record.msg in _EVENTS:
            self.counts[_EVENTS[record.msg]] += 1
            if "controller of epoch" in record.msg and values["args"][1] > 1:
                self.counts["controller failovers"] += 1
        elif record.msg == "connection closed" and "came before this broker is registered" in values["reason"]:
            self.counts["control requests before the registration"] += 1
        elif record.msg == "ISR changed":
            self.counts["ISR shrinks" if len(values["to"]) < len(values["from"]) else "ISR expands"] += 1
        elif record.msg == "role begins" and values["role"] == "leader" and values["epoch"] > 0:
            self.counts["leaders elected"] += 1


@dataclass(frozen=True)
class Terms:
    """What a run is besides its seed. Brokers act on deaths before sessions end if `early`; `suspicions` times they are wrong.
    `lost_replies` of the store come besides. Producers have `ahead` requests on their way at a time, and `writers` others write in
    transactions. `planted` names a flaw of them.
    `protocol` is `inter.broker.protocol.version`: before 2.7-IV2 leaders write ISRs into the store, since then the controller does."""

    faults: int = FAULTS
    flaws: Flaws = NO_FLAWS
    suspicions: int = 0
    lost_replies: int = 0
    early: bool = True
    ahead: int = 1
    writers: int = 0
    planted: str = ""
    protocol: str = BrokerConfig().inter_broker_protocol_version


def run(seed: int, **terms: Any) -> Outcome:
    """The same seed and `Terms`, the same run."""
    asked = Terms(**terms)
    counter, logger = EventCounter(), logging.getLogger("broker_core")
    level = logger.level
    logger.addHandler(counter)
    logger.setLevel(logging.INFO)
    try:
        with _in_single_slices(), planted.flaw(asked.planted):
            return _run(Outcome(seed, events=counter.counts), asked)
    finally:
        logger.removeHandler(counter)
        logger.setLevel(level)


@contextmanager
def _in_single_slices() -> Iterator[None]:
    """What is done to thousands of partitions in slices of many is done to these few one by one; and a producer's epochs are few."""
    with (
        patch.object(backlog, "PARTITIONS_PER_SLICE", 1),
        patch.object(backlog, "PARTITIONS_PER_STEP", 1),
        patch.object(roles, "ORDERS_PER_SLICE", 1),
        patch.object(transaction, "LAST_EPOCH", transactions.LAST_EPOCH),
    ):
        yield


def _run(outcome: Outcome, terms: Terms) -> Outcome:
    settings = {"min.insync.replicas": "2", "controller.socket.timeout.ms": str(control_faults.TIMEOUT_MS)}
    settings["inter.broker.protocol.version"] = terms.protocol
    settings |= {} if terms.early else {"highwater.early.failover.enable": "false"}
    settings |= transactions.settings(outcome.seed) if terms.writers else {}
    cluster = BrokerCluster(brokers=BROKERS, seed=outcome.seed, flaws=terms.flaws, **settings)
    world = cluster.world
    try:
        cluster.start_all()
        cluster.create(TOPIC, PARTITIONS, FACTOR)
        history, watch = History(PARTITIONS), Watch(cluster, TOPIC, PARTITIONS)
        group = _start_clients(cluster, history, terms.ahead)
        written = _start_writers(cluster, terms.writers, gives_up=transactions.is_verified(outcome.seed))
        tps = [TopicPartition(TOPIC, partition) for partition in range(PARTITIONS)]
        operator = Operator(cluster, tps)
        kept_in = transactions.kept_in() if terms.writers else []
        trouble = Faults(cluster, partial(_healthy, cluster), tps, operator, group, kept_in)
        outcome.faults = trouble.counts
        faults = terms.faults
        held_back = ControlFaults(cluster, outcome.seed, FAULT_EVERY_MS * faults)
        altered = AlterationFaults(cluster, outcome.seed, FAULT_EVERY_MS * faults)
        wrong = WrongSuspicions(cluster, outcome.seed, terms.suspicions, FAULT_EVERY_MS * faults, lambda: not trouble.is_power_out())
        trouble.is_misled = wrong.is_under_way
        unheard = LostReplies(cluster, outcome.seed, terms.lost_replies, FAULT_EVERY_MS * faults)
        for number in range(faults):
            world.at(FAULT_EVERY_MS * number + world.random.uniform(0, FAULT_EVERY_MS), trouble.strike)
        world.run_for(FAULT_EVERY_MS * faults + TROUBLE_ENDS_MS)
        trouble.mend_all()
        recovered = world.run_until(lambda: _recovered(cluster) and group.is_settled, RECOVERY_MS)
        history.stopped = group.history.stopped = written.stopped = True
        read = world.spawn("client", group.read_at_last)
        world.run_for(10_000)
        recovered = recovered and world.run_until(lambda: _recovered(cluster) and _is_level(cluster), RECOVERY_MS)
        outcome.violations += [] if read() else ["the offsets of the group could not be read"]
        outcome.violations += group.history.violations + operator.violations()
        outcome.events.update(operator.counts)
        outcome.events["coordinator failovers"] = group.history.failovers
        outcome.events["offsets committed"] = group.history.commits
        outcome.faults.update(held_back.counts)
        outcome.faults.update(altered.counts)
        outcome.faults.update(wrong.counts)
        outcome.faults.update(unheard.counts)
        if terms.writers:
            _judge_transactions(outcome, cluster, written, terms.writers)
        _judge(outcome, cluster, history, watch, recovered)
    finally:
        world.close()
    return outcome


def _start_clients(cluster: BrokerCluster, history: History, ahead: int) -> Group:
    names = tuple(f"b{broker_id}" for broker_id in cluster.ids)
    writes = produce if ahead == 1 else partial(produce_ahead, ahead=ahead)
    for number in range(PARTITIONS):
        for job in (writes, read):
            cluster.world.spawn("client", lambda node, number=number, job=job: job(Client(node, TOPIC, number, names, history)))
    group = Group(TOPIC, PARTITIONS, names)
    for place in range(MEMBERS):
        cluster.world.spawn("client", lambda node, place=place: group.take_place(node, place))  # type: ignore[misc]
    return group


def _start_writers(cluster: BrokerCluster, writers: int, *, gives_up: bool) -> TransactionHistory:
    """With a topic of their own, and a reader of each of its partitions."""
    history = TransactionHistory()
    names = tuple(f"b{broker_id}" for broker_id in cluster.ids)
    if writers:
        cluster.create(transaction_history.TOPIC, transaction_history.PARTITIONS, FACTOR)
        transactions.StableOffsets(cluster, history)
    for place in range(writers):
        cluster.world.spawn(
            "client",
            lambda node, place=place: TransactionalProducer(node, place, names, history, gives_up=gives_up).run(),  # type: ignore[misc]
        )
    for partition in range(transaction_history.PARTITIONS if writers else 0):
        cluster.world.spawn("client", lambda node, partition=partition: CommittedReader(node, partition, names, history).run())  # type: ignore[misc]
    return history


def _judge_transactions(outcome: Outcome, cluster: BrokerCluster, history: TransactionHistory, writers: int) -> None:
    ended = cluster.world.run_until(lambda: transactions.no_longer_open(cluster), RECOVERY_MS)
    outcome.violations += [] if ended else ["a transaction hangs: what is after it cannot be read"]
    outcome.violations += transactions.final_violations(cluster, history, writers) if ended else []
    outcome.events["transactions committed"] = len(history.committed)
    outcome.events["transactions aborted"] = len(history.aborted)
    outcome.events["transactions without an answer"] = len(history.unknown)


def _healthy(cluster: BrokerCluster) -> bool:
    """Every broker runs, nothing is being moved, and each broker knows the full ISR of each partition."""
    ids = [broker_id for broker_id, _ in running(cluster)]
    if len(ids) != len(cluster.ids) or any(cluster.world.is_paused(f"b{broker_id}") for broker_id in ids):
        return False
    for tp in (TopicPartition(TOPIC, partition) for partition in range(PARTITIONS)):
        replicas = sorted(assigned(cluster, tp))
        if is_moving(cluster, tp) or any(sorted(cluster.isr(broker_id, *tp)) != replicas for broker_id in ids):
            return False
    return True


def _recovered(cluster: BrokerCluster) -> bool:
    """All ISRs are full, and the leaders that metadata names do lead."""
    return _healthy(cluster) and all(_is_led(cluster, TopicPartition(TOPIC, partition)) for partition in range(PARTITIONS))


def _is_level(cluster: BrokerCluster) -> bool:
    """All replicas end at the same offset. A follower whose leader's machine lost power may not know it for replica.socket.timeout.ms."""
    for tp in (TopicPartition(TOPIC, partition) for partition in range(PARTITIONS)):
        logs = [cluster.brokers[broker_id].services.logs.get(tp) for broker_id in assigned(cluster, tp)]
        if len({None if log is None else log.log_end_offset for log in logs}) > 1:
            return False
    return True


def _is_led(cluster: BrokerCluster, tp: TopicPartition) -> bool:
    leader = cluster.brokers.get(cluster.known_leader(tp.topic, tp.partition))
    partition = leader.services.replicas.partitions.get(tp) if leader is not None else None
    return partition is not None and partition.is_leader


def _judge(outcome: Outcome, cluster: BrokerCluster, history: History, watch: Watch, recovered: bool) -> None:
    outcome.acked = history.acked_count
    outcome.steps = cluster.world.trace.steps
    outcome.events["sessions expired"] = cluster.world.ensemble.expirations
    outcome.violations += watch.violations
    outcome.violations += [] if recovered else ["the cluster did not recover"]
    outcome.violations += final_violations(cluster, TOPIC, history) if recovered else history.violations
    outcome.violations += [f"a broker gave up: {failure!r}" for failure in cluster.failures]
    outcome.violations += cluster.world.problems
    if outcome.events[FOLDERS_OFFLINE] and not any(outcome.faults[kind] for kind in DISK_KINDS):
        outcome.violations.append("a data folder went offline with a sound disk")
    outcome.digest = cluster.world.trace.digest()
