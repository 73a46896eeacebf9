"""Ending transactions by hand: in one partition by an abort marker, as `kafka-transactions.sh abort` does; or all of one, by taking its
transactional id from its producer."""

from __future__ import annotations

import time

from msgspec.structs import replace

from console.actions.audit import audited
from console.errors import Invalid, Risky, Unconfirmed
from console.gateway.connection import Connection, connection_of
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster
from console.roles import ADMIN, Actor
from console.rules.transactions.shown import Abort, Termination
from console.rules.transactions.told import OPEN, Description, Place, Producer
from console.rules.transactions.words import abort_risks, termination_risks
from console.rules.words import counted, whole
from console.transactions.one import described
from console.transactions.producers import judged_one, leader_of

END_TRIES, END_PAUSE_S = 40, 0.25
"""How often a coordinator is asked that is still about the end of the old transaction."""
CONCURRENT = "CONCURRENT_TRANSACTIONS"


def plan_abort(cluster: Cluster, topic: str, partition: int, start_offset: int) -> Abort:
    """What would be written for the open transaction that begins at this offset; `Invalid` where none does."""
    return _plan(cluster, (topic, partition), start_offset)[2]


def _plan(cluster: Cluster, place: Place, start_offset: int) -> tuple[int, Producer, Abort]:
    connection = connection_of(cluster)
    kafka = KafkaCluster(connection)
    leader = leader_of(kafka, place)
    told = kafka.producers({leader: [place]})[place]
    if isinstance(told, GatewayError):
        raise told
    name = f"{place[0]}-{place[1]}"
    producer = next((row for row in told if row.start_offset == start_offset), None)
    if producer is None:
        raise Invalid("start_offset", f"No open transaction of {name} begins at offset {whole(start_offset)}: it may have ended meanwhile.")
    seen = judged_one(kafka, place, leader, producer)
    held = _held(kafka, leader, place)
    plan = Abort(
        topic=place[0],
        partition=place[1],
        start_offset=start_offset,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        coordinator_epoch=producer.coordinator_epoch or 0,
        transaction=seen.transaction,
        transactional_id=seen.transactional_id,
        held=held,
        risks=abort_risks(name, seen.transaction, seen.transactional_id, held, limited=is_limited(connection)),
        sentence=f"An abort marker of producer {whole(producer.producer_id)}, epoch {producer.epoch}, would be written to {name}.",
        done=False,
    )
    return leader, producer, plan


def is_limited(connection: Connection) -> bool:
    """Whether the cluster knows who the console is, and may keep things from it."""
    return connection.is_authenticated or bool(connection.certificate_pem)


def _held(kafka: KafkaCluster, leader: int, place: Place) -> int | None:
    ends = kafka.ends({leader: [place]}).get(place)
    return None if ends is None else ends.held


def abort_transaction(
    actor: Actor, cluster: Cluster, topic: str, partition: int, start_offset: int, *, confirm: str | bool = False
) -> Abort:
    """`confirm` is the partition's name (`orders-3`) as somebody typed it, or True of a program."""
    name = f"{topic}-{partition}"
    with audited(actor, ADMIN, "abort transaction", name, cluster=cluster, after={"start_offset": start_offset}) as entry:
        leader, producer, plan = _plan(cluster, (topic, partition), start_offset)
        entry.before = {"transaction": plan.transaction, "transactional_id": plan.transactional_id, "held": plan.held}
        if confirm is False:
            raise Risky(plan.risks)
        if confirm not in (True, name):
            raise Unconfirmed("confirm", f"Type the partition's name, {name}, to abort this transaction there.")
        kafka = KafkaCluster(connection_of(cluster))
        kafka.abort_transaction(leader, (topic, partition), producer)
        held = _held(kafka, leader, (topic, partition))
        entry.after = {
            "start_offset": start_offset,
            "producer_id": producer.producer_id,
            "producer_epoch": producer.epoch,
            "coordinator_epoch": plan.coordinator_epoch,
            "held": held,
        }
    wait = (
        ""
        if held is None
        else " Nothing holds readers back there now."
        if not held
        else f" Readers wait for {counted(held, 'offset')} still."
    )
    return replace(plan, held=held, risks=[], done=True, sentence=f"The transaction is aborted in {name}.{wait}")


def plan_termination(cluster: Cluster, transactional_id: str) -> Termination:
    return _termination(transactional_id, described(KafkaCluster(connection_of(cluster)), transactional_id)[1])


def _termination(transactional_id: str, told: Description) -> Termination:
    is_open, name = told.state in OPEN, transactional_id[:80]
    partitions = len(told.places) if is_open else 0
    ends = f"Its transaction, in {counted(partitions, 'partition')}, would be aborted" if is_open else "No transaction of it is in progress"
    return Termination(
        transactional_id=transactional_id,
        state=told.state,
        producer_id=told.producer_id,
        producer_epoch=told.epoch,
        partitions=partitions,
        risks=termination_risks(name, is_open, partitions),
        sentence=f"{name} would be taken from its producer. {ends}.",
        done=False,
    )


def terminate_transaction(actor: Actor, cluster: Cluster, transactional_id: str, *, confirm: str | bool = False) -> Termination:
    """InitProducerId for the id: its producer is fenced, what it has in progress is aborted. `confirm` is the id, or True of a program. One
    that no coordinator knows is not made by this (TRANSACTIONAL_ID_NOT_FOUND)."""
    with audited(actor, ADMIN, "end transaction", transactional_id, cluster=cluster) as entry:
        kafka = KafkaCluster(connection_of(cluster))
        coordinator, told = described(kafka, transactional_id)
        plan = _termination(transactional_id, told)
        entry.before = {"state": told.state, "producer_id": told.producer_id, "producer_epoch": told.epoch, "partitions": plan.partitions}
        if confirm is False:
            raise Risky(plan.risks)
        if confirm not in (True, transactional_id):
            raise Unconfirmed("confirm", "Type the transactional id to take it from its producer.")
        producer_id, epoch = _taken(kafka, coordinator, transactional_id, told.timeout_ms)
        entry.after = {"producer_id": producer_id, "producer_epoch": epoch}
    ended = "its transaction is aborted, and its producer fenced" if plan.partitions else "its producer is fenced"
    said = f"{transactional_id[:80]}: {ended}."
    return replace(plan, producer_id=producer_id, producer_epoch=epoch, risks=[], done=True, sentence=said)


def _taken(kafka: KafkaCluster, coordinator: int, transactional_id: str, timeout_ms: int) -> tuple[int, int]:
    """Asked again while the old transaction ends; the first time has fenced its producer already."""
    for left in reversed(range(END_TRIES)):
        try:
            return kafka.take_over_transactions(coordinator, transactional_id, timeout_ms)
        except GatewayError as error:
            if error.name != CONCURRENT or not left:
                raise
            time.sleep(END_PAUSE_S)
    raise AssertionError("the last try returns or raises")
