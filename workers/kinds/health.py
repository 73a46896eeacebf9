"""A health report: facts (`health_facts.py`), judged by the rules, kept with what changed since the last one that it compares with."""

from __future__ import annotations

from typing import Any

from console.actions.report_mails import put_on_its_way
from console.clock import now_ms
from console.models import Cluster, HealthReport, Job, trim
from console.rules.report import FORMAT, changes, report
from console.rules.words import duration
from console.snapshot.read import Snapshot
from workers.kinds.health_facts import facts
from workers.kinds.step import Step

FRESH_MS = 15_000
GIVE_UP_TRIES = 10


def advance(job: Job) -> Step:
    snapshot = Snapshot(job.cluster_id)
    beat = snapshot.beat_ms()
    age_ms = None if beat is None else now_ms() - beat
    if age_ms is None or age_ms > FRESH_MS:
        return _wait(job, age_ms)
    made = report(facts(job.cluster, now_ms()))
    row = _keep(job.cluster, snapshot, made)
    put_on_its_way(row)
    counts = {kind: found["count"] for kind, found in row.changed.items()}
    result = {"report": row.pk, "level": made["level"], **counts}
    return Step("end", {}, 1, 1, "reports", made["sentence"], made["sentence"], Job.SUCCEEDED, result)


def _keep(cluster: Cluster, snapshot: Snapshot, made: dict[str, Any]) -> HealthReport:
    live = snapshot.cluster()
    basis = f"{live.source if live else 'feed'} {cluster.kafka_id}"
    kept = HealthReport.objects.filter(cluster=cluster)
    last = kept.filter(format=FORMAT, basis=basis).order_by("-id").first()
    row = HealthReport.objects.create(
        cluster=cluster,
        level=made["level"],
        sentence=made["sentence"],
        checks=made["checks"],
        changed=changes({"checks": last.checks} if last else None, made),
        format=FORMAT,
        basis=basis,
        compared=last.pk if last else None,
    )
    trim(kept, HealthReport.KEEP)
    return row


def _wait(job: Job, age_ms: int | None) -> Step:
    """A report on old figures would be wrong: wait for the live feed a little, then give up."""
    tries = job.plan.get("tries", 0) + 1
    why = "nothing live was ever written" if age_ms is None else f"the last live figures are {duration(age_ms / 1000, 1)} old"
    if tries > GIVE_UP_TRIES:
        return Step("end", {}, 0, 1, "reports", f"No report: {why}. Is manage.py live running?", "gave up", Job.FAILED)
    return Step("start", {"tries": tries}, 0, 1, "reports", f"Waiting: {why}.")


def cancel(job: Job) -> Step:
    return Step("end", {}, 0, 1, "reports", "Cancelled.", "Cancelled.", Job.CANCELLED)
