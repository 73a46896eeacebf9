"""An analysis: a Spark driver is started, watched, and its summary put into rows (`analysis_rows`). Steps: start → run.

Before a driver is started, the samples' end offsets are compared with Spark's checkpoint: nothing new, no driver. Where one stays
(`workers/resident.py`), the job asks that for its next answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from console.analyses import is_continuous
from console.gateway import driver, spark
from console.gateway.connection import Connection, connection_of
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.live.sampling.samples import SAMPLES_TOPIC
from console.models import Job
from console.rules.spark import sentence
from console.rules.words import counted, whole
from workers.kinds.analysis_rows import UnknownSummary, save
from workers.kinds.step import Step
from workers.spark.jars import missing

STEPS = 5
RUN_LIMIT_S = 1_200
UNKNOWN_TOPIC = 3


def advance(job: Job) -> Step:
    if job.step == "run":
        return _watch(job)
    return _await_answer(job) if is_continuous() else _start(job)


def cannot_run() -> str:
    """What keeps an analysis from starting and does not pass by itself, as a sentence; empty when nothing does."""
    install = spark.install()
    return sentence(install, _now()) if install.state != "ready" else missing()


def _hindered() -> Step | None:
    """Where no driver can be started now: waits while Spark is being installed, fails on what does not pass by itself."""
    if (install := spark.install()).state == "installing":
        return Step("start", {}, 0, STEPS, "steps", f"Waiting: {sentence(install, _now())}")
    why = cannot_run()
    return _failed(why) if why else None


def _start(job: Job) -> Step:
    if hindered := _hindered():
        return hindered
    if driver.owner() == job.pk:
        return _started()
    if driver.alive():
        return Step("start", {}, 0, STEPS, "steps", "Waiting for the analysis before to end.")
    connection = connection_of(job.cluster)
    if not _anything_new(connection):
        said = "Nothing new since the last analysis; no driver was started."
        return Step("end", {}, STEPS, STEPS, "steps", said, said, Job.SUCCEEDED, {"samples": 0, "new": False})
    driver.start(connection.bootstrap_servers, SAMPLES_TOPIC)
    driver.note_owner(job.pk)
    return _started()


def _started() -> Step:
    return Step("run", {"started": _now().timestamp()}, 0, STEPS, "steps", "Spark is starting.", "The Spark driver is started.")


def _anything_new(connection: Connection) -> bool:
    partitions = sample_partitions(connection)
    ends = KafkaCluster(connection).offsets([(SAMPLES_TOPIC, partition) for partition in partitions], "latest")
    read = driver.read_up_to(SAMPLES_TOPIC)
    return read is None or any(end != read.get(partition, 0) for (_, partition), end in ends.items())


def sample_partitions(connection: Connection) -> list[int]:
    """Of the topic of samples; `GatewayError` where that is not there yet."""
    found = [topic for topic in KafkaCluster(connection).topics([SAMPLES_TOPIC]) if topic["partitions"]]
    if not found:
        raise GatewayError(
            "NO_SAMPLES", f"The topic {SAMPLES_TOPIC} is not there yet: samples are taken every 10 s.", UNKNOWN_TOPIC, retriable=True
        )
    return [partition["partition_index"] for partition in found[0]["partitions"]]


def _await_answer(job: Job) -> Step:
    """The next answer of the driver that stays: one that it began after somebody asked."""
    asked_ms = job.created_at.timestamp() * 1000
    summary = driver.read("summary.json")
    if summary is not None and summary.get("began_at_ms", 0) >= asked_ms:
        return _answered(job, summary)
    if _now().timestamp() * 1000 - asked_ms > RUN_LIMIT_S * 1000:
        return _failed(f"The driver that stays gave no answer within {RUN_LIMIT_S // 60} minutes.")
    if not driver.alive():
        return _hindered() or Step("start", {}, 0, STEPS, "steps", "Waiting for the driver that stays to be started.")
    progress = driver.read("progress.json") or {}
    if not progress.get("done"):
        driver.ask()
    return Step("start", {}, int(progress.get("done", 0)), STEPS, "steps", f"Spark: {progress.get('message', 'starting')}.")


def _watch(job: Job) -> Step:
    progress = driver.read("progress.json") or {}
    done, words = int(progress.get("done", 0)), str(progress.get("message", "starting"))
    if driver.alive():
        if _now().timestamp() - job.plan["started"] > RUN_LIMIT_S:
            driver.stop()
            return _failed(f"The driver ran for more than {RUN_LIMIT_S // 60} minutes and was ended.")
        return Step("run", job.plan, done, STEPS, "steps", f"Spark: {words}.")
    summary = driver.read("summary.json")
    if summary is None:
        why = words if done == 0 and progress else driver.last_lines() or "it wrote no log"
        return _failed(f"The driver ended without a summary: {why}"[:1000])
    return _answered(job, summary)


def _answered(job: Job, summary: Mapping[str, Any]) -> Step:
    try:
        kept = save(job.cluster, summary)
    except UnknownSummary as error:
        return _failed(str(error))
    windows = f"{counted(kept['throughput'], 'window')} of throughput and {whole(kept['lag'])} of lag."
    aside = summary["aside"]["counts"]
    left = f" {counted(sum(aside.values()), 'record')} set aside." if aside else ""
    said = f"{counted(summary['samples'], 'sample')} gave {windows}{left}"
    result = {"samples": summary["samples"], "new": True, "set_aside": aside, **kept}
    return Step("end", {}, STEPS, STEPS, "steps", said, said, Job.SUCCEEDED, result)


def _now() -> datetime:
    return datetime.now(UTC)


def _failed(why: str) -> Step:
    return Step("end", {}, 0, STEPS, "steps", why, why[:300], Job.FAILED)


def cancel(job: Job) -> Step:
    if (job.step == "run" or driver.owner() == job.pk) and not driver.stop():
        return Step("run", job.plan, job.done, STEPS, "steps", "Waiting for the driver to end.")
    return Step("end", {}, job.done, STEPS, "steps", "Cancelled.", "Cancelled.", Job.CANCELLED)
