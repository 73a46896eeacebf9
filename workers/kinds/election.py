"""Preferred-leader election: partitions not led by their first assigned replica are elected in batches."""

from __future__ import annotations

from typing import Any

from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Job
from console.rules.partitions import not_preferred
from console.rules.words import counted, whole
from workers.kinds.step import Step

BATCH = 200
NOT_NEEDED = 84
FAILURES_KEPT = 50


def advance(job: Job) -> Step:
    kafka = KafkaCluster(connection_of(job.cluster))
    return _plan(job, kafka) if job.step == "start" else _elect(job, kafka)


def _plan(job: Job, kafka: KafkaCluster) -> Step:
    topics, broker = job.params.get("topics"), job.params.get("broker")
    found = kafka.topics(topics)
    missing = sorted(set(topics or ()) - {t["name"] for t in found})
    if missing:
        return Step("end", state=Job.FAILED, message=f"There is no topic {', '.join(missing)}.", said="refused")
    away = [
        [t["name"], p["partition_index"]]
        for t in found
        for p in t["partitions"]
        if p["leader_id"] >= 0 and not_preferred(p["leader_id"], p["replica_nodes"]) and broker in (None, p["replica_nodes"][0])
    ]
    plan = {"todo": away, "elected": 0, "not_needed": 0, "failed": []}
    said = f"{counted(len(away), 'partition')} {'is not led by its' if len(away) == 1 else 'are not led by their'} preferred replica."
    if not away:
        message = "Every partition is led by its preferred replica." if broker is None else f"Broker {broker} leads all that it is to lead."
        return Step("end", plan, state=Job.SUCCEEDED, message=message, said=said, result=_result(plan))
    return Step("elect", plan, 0, len(away), message=said, said=said, again=True)


def _elect(job: Job, kafka: KafkaCluster) -> Step:
    plan = job.plan
    batch, rest = plan["todo"][:BATCH], plan["todo"][BATCH:]
    answers = kafka.elect_preferred([(topic, partition) for topic, partition in batch])
    for topic, partition in batch:
        code, words = answers.get((topic, partition), (0, ""))
        if code == 0:
            plan["elected"] += 1
        elif code == NOT_NEEDED:
            plan["not_needed"] += 1
        else:
            plan["failed"].append({"topic": topic, "partition": partition, "error": f"{words or 'refused'} ({code})"})
    plan["todo"] = rest
    done = job.total - len(rest)
    if rest:
        return Step("elect", plan, done, job.total, message=f"{whole(done)} of {whole(job.total)} elected.", again=True)
    failed = len(plan["failed"])
    state = Job.FAILED if failed and not plan["elected"] + plan["not_needed"] else Job.SUCCEEDED
    said = f"{counted(plan['elected'], 'leader')} moved to {'its' if plan['elected'] == 1 else 'their'} preferred replica" + (
        f", {whole(failed)} could not: {plan['failed'][0]['error']}." if failed else "."
    )
    return Step("end", plan, done, job.total, message=said, said=said, state=state, result=_result(plan))


def _result(plan: dict[str, Any]) -> dict[str, Any]:
    return {"elected": plan["elected"], "not_needed": plan["not_needed"], "failed": plan["failed"][:FAILURES_KEPT]}


def cancel(job: Job) -> Step:
    plan = job.plan or {"elected": 0, "not_needed": 0, "failed": []}
    said = f"Cancelled after {counted(plan['elected'], 'election')}."
    return Step("end", job.plan, job.done, job.total, message=said, said=said, state=Job.CANCELLED, result=_result(plan))
