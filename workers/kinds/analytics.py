"""An analysis: a Spark driver is started, watched, and its summary put into rows (`analysis_rows`). Steps: start → run.

Before a driver is started, the samples' end offsets are compared with Spark's checkpoint: nothing new, no driver.
"""

from __future__ import annotations

from datetime import UTC, datetime

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
    return _start(job) if job.step == "start" else _watch(job)


def cannot_run() -> str:
    """What keeps an analysis from starting and does not pass by itself, as a sentence; empty when nothing does."""
    install = spark.install()
    return sentence(install, _now()) if install.state != "ready" else missing()


def _start(job: Job) -> Step:
    if (install := spark.install()).state == "installing":
        return Step("start", {}, 0, STEPS, "steps", f"Waiting: {sentence(install, _now())}")
    if why := cannot_run():
        return _failed(why)
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
    kafka = KafkaCluster(connection)
    found = [t for t in kafka.topics([SAMPLES_TOPIC]) if t["partitions"]]
    if not found:
        raise GatewayError(
            "NO_SAMPLES", f"The topic {SAMPLES_TOPIC} is not there yet: samples are taken every 10 s.", UNKNOWN_TOPIC, retriable=True
        )
    ends = kafka.offsets([(SAMPLES_TOPIC, p["partition_index"]) for p in found[0]["partitions"]], "latest")
    read = driver.read_up_to(SAMPLES_TOPIC)
    return read is None or any(end != read.get(partition, 0) for (_, partition), end in ends.items())


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
