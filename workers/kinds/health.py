"""A health report: facts from the live snapshot, judged by the rules, kept with what changed since the last one."""

from __future__ import annotations

from console.clock import now_ms
from console.models import HealthReport, Job, trim
from console.rules.report import Facts, changes, report
from console.rules.words import duration
from console.snapshot.read import Snapshot
from workers.kinds.step import Step

FRESH_MS = 15_000
TROUBLE_LIMIT = 100_000
GIVE_UP_TRIES = 10


def advance(job: Job) -> Step:
    snapshot = Snapshot(job.cluster_id)
    beat = snapshot.beat_ms()
    age_ms = None if beat is None else now_ms() - beat
    if age_ms is None or age_ms > FRESH_MS:
        return _wait(job, age_ms)
    made = report(facts(snapshot))
    last = HealthReport.objects.filter(cluster_id=job.cluster_id).order_by("-id").first()
    changed = changes({"checks": last.checks} if last else None, made)
    row = HealthReport.objects.create(
        cluster_id=job.cluster_id, level=made["level"], sentence=made["sentence"], checks=made["checks"], changed=changed
    )
    trim(HealthReport.objects.all(), HealthReport.KEEP)
    result = {"report": row.pk, "level": made["level"], "new": len(changed["new"]), "gone": len(changed["gone"])}
    return Step("end", {}, 1, 1, "reports", made["sentence"], made["sentence"], Job.SUCCEEDED, result)


def _wait(job: Job, age_ms: int | None) -> Step:
    """A report on old figures would be wrong: wait for the live feed a little, then give up."""
    tries = job.plan.get("tries", 0) + 1
    why = "nothing live was ever written" if age_ms is None else f"the last live figures are {duration(age_ms / 1000, 1)} old"
    if tries > GIVE_UP_TRIES:
        return Step("end", {}, 0, 1, "reports", f"No report: {why}. Is manage.py live running?", "gave up", Job.FAILED)
    return Step("start", {"tries": tries}, 0, 1, "reports", f"Waiting: {why}.")


def facts(snapshot: Snapshot) -> Facts:
    return Facts(
        trouble=snapshot.trouble(TROUBLE_LIMIT)[0],
        brokers=[b for b in snapshot.brokers() if b.state == "online"],
        topics=[topic for topic in snapshot.topics(snapshot.topic_names()) if topic.deleting is None],
        groups=snapshot.groups(snapshot.group_names()),
        clients=snapshot.silent_clients(),
    )


def cancel(job: Job) -> Step:
    return Step("end", {}, 0, 1, "reports", "Cancelled.", "Cancelled.", Job.CANCELLED)
