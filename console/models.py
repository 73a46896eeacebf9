"""What is kept in the database. Every table that grows by itself is bounded by `trim` (rows kept, newest first)."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any, ClassVar, cast

from django.conf import settings
from django.db import models
from django.utils import timezone

from broker_core.contract.jobs import Job as JobValue
from broker_core.contract.jobs import JobState, Progress
from broker_core.contract.sentences import KeptEvent, Level
from console.fields import AnyJSONField, NameField
from console.jobs.registry import KINDS
from console.snapshot.moments import name_of


def trim(rows: models.QuerySet[Any], keep: int) -> int:
    """Deletes all but the newest `keep` of the rows (by id); returns how many went."""
    edge = rows.order_by("-id").values_list("id", flat=True)[keep : keep + 1].first()
    if edge is None:
        return 0
    deleted, _ = rows.filter(id__lte=edge).delete()
    return deleted


class Cluster(models.Model):
    """A Kafka-protocol cluster; `local` is the one of `make up`, the only one whose processes we control. Others are registered.

    `secrets` are sealed (`console/gateway/sealing.py`); `kafka_id` is what the cluster called itself when it was tested last.
    """

    COLOURS = ("teal", "orange", "violet", "green", "pink", "olive")
    LIMIT = 50

    id = models.SlugField(primary_key=True, max_length=64)
    name = NameField(max_length=100)
    bootstrap_servers = NameField(max_length=1000)
    zookeeper = NameField(max_length=1000, blank=True)
    is_local = models.BooleanField(default=False)
    security_protocol = NameField(max_length=16, default="PLAINTEXT")
    sasl_mechanism = NameField(max_length=16, blank=True, default="")
    sasl_username = NameField(max_length=255, blank=True, default="")
    ca_pem = models.TextField(blank=True, default="")
    certificate_pem = models.TextField(blank=True, default="")
    check_hostname = models.BooleanField(default=True)
    secrets = models.TextField(blank=True, default="")
    colour = NameField(max_length=12, default=COLOURS[0])
    read_only = models.BooleanField(default=False)
    kafka_id = NameField(max_length=64, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    moment_ms: int | None = None
    """The moment of the past that it is looked at, no column; None: now."""

    def __str__(self) -> str:
        return self.id

    @property
    def snapshot_id(self) -> str:
        """Whose snapshot is read."""
        return str(self.pk) if self.moment_ms is None else name_of(self.pk, self.moment_ms)


class Job(models.Model):
    """Work on a cluster that takes longer than a request: the row is the plan, the cluster is the truth.

    `params` is what was asked for, `plan` what steps have found out. A step runs under a lease: `lease_owner` until `lease_until`.
    """

    QUEUED, RUNNING, CANCELLING = "queued", "running", "cancelling"
    SUCCEEDED, FAILED, CANCELLED = "succeeded", "failed", "cancelled"
    ACTIVE = (QUEUED, RUNNING, CANCELLING)
    STATES = (*ACTIVE, SUCCEEDED, FAILED, CANCELLED)
    KEEP = 2000

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    kind = NameField(max_length=40)
    params = AnyJSONField(default=dict)
    state = NameField(max_length=12, default=QUEUED)
    step = NameField(max_length=40, default="start")
    plan = AnyJSONField(default=dict)
    cancel_requested = models.BooleanField(default=False)
    paused = models.BooleanField(default=False)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    unit = NameField(max_length=20, default="partitions")
    message = NameField(max_length=1000, blank=True)
    result = AnyJSONField(null=True)
    log = AnyJSONField(default=list)
    lease_owner = NameField(max_length=100, blank=True)
    lease_until = models.DateTimeField(null=True)
    created_by = NameField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    stepped_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["state"]), models.Index(fields=["cluster", "-id"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def active(self) -> bool:
        return self.state in self.ACTIVE


class Event(models.Model):
    """Something that happened in a cluster, as a sentence with cause and effect."""

    KEEP = 20_000
    LEVELS = ("ok", "notice", "warn", "bad")
    KINDS = (
        *("broker_died", "broker_returned", "controller_moved", "feed_back", "feed_lost", "group_rebalance", "isr_expand", "isr_shrink"),
        *("leader_moved", "reassignment", "topic_created", "topic_deleted", "topic_deleting", "truncation", "unclean_election"),
        "broker_unregistered",
    )
    """What can be asked for before it has ever happened; what has happened can be asked for anyway."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    at_ms = models.BigIntegerField()
    kind = NameField(max_length=32)
    level = NameField(max_length=8)
    sentence = NameField(max_length=1000)
    broker_id = models.IntegerField(null=True)
    topic = NameField(max_length=249, blank=True)
    partition = models.IntegerField(null=True)
    group = NameField(max_length=255, blank=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["cluster", "-id"]),
            models.Index(fields=["cluster", "topic", "-id"]),
            models.Index(fields=["cluster", "kind", "-id"]),
            models.Index(fields=["cluster", "at_ms"]),
        ]

    def __str__(self) -> str:
        return self.sentence


class AuditEntry(models.Model):
    """One change someone asked for or one sign-in, whether it was allowed and whether it worked."""

    KEEP = 50_000
    KEEP_FAILED_SIGN_INS = 5_000
    SIGN_IN = "sign in"
    ASKED = "asked"
    """The outcome of what wants a confirmation first: nothing was done, and nothing went wrong."""

    at = models.DateTimeField(default=timezone.now)
    actor = NameField(max_length=150)
    via = NameField(max_length=8)
    address = NameField(max_length=45, blank=True)
    action = NameField(max_length=60)
    target = NameField(max_length=400)
    cluster = NameField(max_length=64, blank=True, default="")
    """Whose change it is; empty of what is the console's own."""
    before = AnyJSONField(null=True)
    after = AnyJSONField(null=True)
    outcome = NameField(max_length=10)
    error = NameField(max_length=1000, blank=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["action", "actor", "address"]), models.Index(fields=["cluster", "-id"])]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.target}"


class SignInLane(models.Model):
    """Wrong passwords of one lane (see `console/actions/tries.py`), and when its next try is looked at; forgotten at `until`."""

    KEEP = 10_000

    key = NameField(max_length=64, unique=True)
    wrong = models.IntegerField(default=0)
    next_at = models.FloatField(default=0)
    until = models.FloatField()

    def __str__(self) -> str:
        return f"{self.wrong} wrong"


class ListChoice(models.Model):
    """What a person last chose on a list of a cluster: the query of its address, without the page. One row a person, cluster and list."""

    QUERY_MAX = 1500

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    page = NameField(max_length=20)
    query = NameField(max_length=QUERY_MAX)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "cluster", "page"], name="one_choice_of_a_list")]

    def __str__(self) -> str:
        return f"{self.page}?{self.query}"


class Favourite(models.Model):
    """A topic or group that a person marked with a star; at most `KEEP` of a kind for each person and cluster."""

    KEEP = 200

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    kind = NameField(max_length=10)
    name = NameField(max_length=255)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "cluster", "kind", "name"], name="one_star_a_name")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class ApiToken(models.Model):
    """A bearer token; only its SHA-256 is kept, so a stolen database opens nothing. None lasts for ever."""

    DAYS, DAYS_MAX = 90, 366

    name = NameField(max_length=100)
    digest = NameField(max_length=64, unique=True)
    role = NameField(max_length=10)
    created_by = NameField(max_length=150, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def digest_of(token: str) -> str:
        return hashlib.sha256(token.encode()).hexdigest()

    @property
    def state(self) -> str:
        """`live`, `revoked` or `expired`."""
        return "revoked" if self.revoked_at else "expired" if self.expires_at <= timezone.now() else "live"

    @classmethod
    def live(cls) -> models.QuerySet[ApiToken]:
        return cls.objects.filter(revoked_at=None, expires_at__gt=timezone.now())

    @classmethod
    def issue(cls, name: str, role: str, created_by: str, lasts: timedelta = timedelta(days=DAYS)) -> tuple[ApiToken, str]:
        """The row and the token itself, which is shown once and never again."""
        token = "hw_" + secrets.token_urlsafe(32)
        until = timezone.now() + lasts
        return cls.objects.create(name=name, digest=cls.digest_of(token), role=role, created_by=created_by, expires_at=until), token

    @classmethod
    def find(cls, token: str) -> ApiToken | None:
        """The live token's row; notes its use at most once a minute."""
        row = cls.live().filter(digest=cls.digest_of(token)).first()
        now = timezone.now()
        if row and (row.last_used_at is None or (now - row.last_used_at).total_seconds() > 60):
            cls.objects.filter(pk=row.pk).update(last_used_at=now)
        return row


class KeptAnswer(models.Model):
    """What REST answered to a change with an `Idempotency-Key`; `holder` is the digest of who asked, `asked` that of what.
    `status` is 0 while the change is under way."""

    KEEP = 5_000

    holder = NameField(max_length=64)
    key = NameField(max_length=200)
    asked = NameField(max_length=64)
    status = models.IntegerField(default=0)
    body = models.TextField(blank=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["holder", "key"], name="kept_answer_key")]

    def __str__(self) -> str:
        return f"{self.key} {self.status}"


class MaskRule(models.Model):
    """What those whose role is below `below` do not see of the records of a cluster's `topics` (see `console/rules/records/masking.py`)."""

    MOST = 200

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    topics = NameField(max_length=249)
    part = NameField(max_length=10)
    expression = NameField(max_length=500, blank=True)
    below = NameField(max_length=10)
    created_by = NameField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.part} of {self.topics}"


class SchemaRegistry(models.Model):
    """Where the schemas of a cluster's records are; `secrets` are sealed (`console/gateway/sealing.py`)."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    url = NameField(max_length=500)
    username = NameField(max_length=255, blank=True, default="")
    ca_pem = models.TextField(blank=True, default="")
    secrets = models.TextField(blank=True, default="")
    set_by = NameField(max_length=150)
    set_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"schema registry of {self.cluster_id}"


class ConsoleSetting(models.Model):
    """What was set of the console itself while it runs (`console/rules/settings/of_console.py`), in place of what it started with."""

    name = NameField(max_length=60, primary_key=True)
    value = NameField(max_length=20)
    set_by = NameField(max_length=150)
    set_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.name} is {self.value}"

    @classmethod
    def number(cls, name: str) -> int | None:
        """None where nothing was set."""
        found = cls.text(name)
        return None if found is None else int(found)

    @classmethod
    def text(cls, name: str) -> str | None:
        """None where nothing was set."""
        return cls.objects.filter(pk=name).values_list("value", flat=True).first()


class WantedState(models.Model):
    """The files that say how a cluster is to be, and how the last look for drift went. `seen` is the digest of what that found."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    files = AnyJSONField(default=dict)
    topics = models.IntegerField(default=0)
    uploaded_by = NameField(max_length=150)
    uploaded_at = models.DateTimeField(default=timezone.now)
    looked_at = models.DateTimeField(null=True)
    error = NameField(max_length=1000, blank=True)
    counts = AnyJSONField(default=dict)
    seen = NameField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"wanted state of {self.cluster_id}"


class WantedDrift(models.Model):
    """One object that is not as it is wanted; `value` is a `console.wanted.model.Drift` without its steps."""

    KEEP = 10_000

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    object = NameField(max_length=260)
    state = NameField(max_length=12)
    value = AnyJSONField(default=dict)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["cluster", "object"], name="wanted_drift_object")]

    def __str__(self) -> str:
        return f"{self.object} {self.state}"


class OffsetChange(models.Model):
    """A change of a group's committed offsets and what was committed before, so that it can be put back. `rows` is
    `{topic: [[partition, before, after]]}`, null where nothing is committed; `undone_by` is the change that put it back."""

    KEEP = 500
    KINDS = ("reset", "put back", "delete offsets", "delete group")

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    group = NameField(max_length=255)
    at = models.DateTimeField(default=timezone.now)
    actor = NameField(max_length=150)
    kind = NameField(max_length=20)
    how = NameField(max_length=200, blank=True)
    rows = AnyJSONField(default=dict)
    outcome = NameField(max_length=10, default="begun")
    undone_by = models.BigIntegerField(null=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["cluster", "group", "-id"])]

    def __str__(self) -> str:
        return f"{self.kind} of {self.group}"

    @property
    def partitions(self) -> int:
        return sum(map(len, self.rows.values()))


class HealthReport(models.Model):
    """A health report as the rules gave it, with what changed since the last one that it can be compared with (`compared`, its id): one
    of the same `format` and `basis`, which says what the facts came from."""

    KEEP = 400
    """Of each cluster."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    at = models.DateTimeField(default=timezone.now)
    level = NameField(max_length=8)
    sentence = NameField(max_length=1000)
    checks = AnyJSONField(default=list)
    changed = AnyJSONField(default=dict)
    format = models.SmallIntegerField(default=1)
    basis = NameField(max_length=100, blank=True, default="")
    compared = models.BigIntegerField(null=True)

    def __str__(self) -> str:
        return f"{self.cluster_id} {self.at:%Y-%m-%d %H:%M} {self.level}"


class Rates(models.Model):
    """What was appended a second in one window, as an analysis found it: over the moments of the window."""

    KEEP = 200_000

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    window_start = models.DateTimeField()
    window_seconds = models.IntegerField()
    bytes_per_s = models.FloatField(null=True)
    bytes_p50 = models.FloatField(null=True)
    bytes_p95 = models.FloatField(null=True)
    bytes_max = models.FloatField(null=True)
    messages_per_s = models.FloatField(null=True)
    messages_p50 = models.FloatField(null=True)
    messages_p95 = models.FloatField(null=True)
    messages_max = models.FloatField(null=True)

    class Meta:
        abstract = True


class ThroughputSummary(Rates):
    """Throughput of one topic in one window: `bytes_per_s` and `messages_per_s` are its means."""

    topic = NameField(max_length=249)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["cluster", "topic", "window_start", "window_seconds"], name="throughput_window")
        ]

    def __str__(self) -> str:
        return f"{self.topic} {self.window_start:%H:%M:%S}"


class BrokerThroughput(Rates):
    """What was appended to the partitions that one broker led."""

    broker = models.IntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["cluster", "broker", "window_start", "window_seconds"], name="broker_throughput_window")
        ]

    def __str__(self) -> str:
        return f"broker {self.broker} {self.window_start:%H:%M:%S}"


class AnalysisTable(models.Model):
    """The last analysis' rows of one question (`workers/spark/job.py`), `left_off` fewer than it found."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    name = NameField(max_length=40)
    at = models.DateTimeField()
    rows = AnyJSONField(default=list)
    left_off = models.IntegerField(default=0)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["cluster", "name"], name="analysis_table")]

    def __str__(self) -> str:
        return f"{self.name} of {self.cluster_id}"


class LagSummary(models.Model):
    """Lag of one group on one topic in one window, as the analytics job found it."""

    KEEP = 200_000

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    group = NameField(max_length=255)
    topic = NameField(max_length=249)
    window_start = models.DateTimeField()
    window_seconds = models.IntegerField()
    lag_max = models.BigIntegerField(null=True)
    lag_avg = models.FloatField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["cluster", "group", "topic", "window_start", "window_seconds"], name="lag_window")
        ]

    def __str__(self) -> str:
        return f"{self.group} {self.topic} {self.window_start:%H:%M:%S}"


def job_value(job: Job) -> JobValue:
    """A job as pages, REST and the websocket show it."""
    return JobValue(
        id=job.pk,
        cluster=job.cluster_id,
        kind=job.kind,
        state=cast(JobState, job.state),
        progress=Progress(job.done, job.total, job.unit),
        message=job.message,
        result=job.result,
        created_at=_iso(job.created_at),
        started_at=_iso(job.started_at) if job.started_at else None,
        ended_at=_iso(job.ended_at) if job.ended_at else None,
        stepped_at=_iso(job.stepped_at) if job.stepped_at else None,
        params=job.params,
        created_by=job.created_by,
        can_cancel=job.state in (Job.QUEUED, Job.RUNNING),
        cancel_means=KINDS[job.kind].cancel_means if job.kind in KINDS else "",
        is_paused=job.paused and job.active,
        can_pause=job.state in (Job.QUEUED, Job.RUNNING) and bool(_pause_means(job)),
        pause_means=_pause_means(job),
    )


def _pause_means(job: Job) -> str:
    return KINDS[job.kind].pause_means if job.kind in KINDS else ""


def event_value(event: Event) -> KeptEvent:
    return KeptEvent(
        event.kind,
        cast(Level, event.level),
        event.sentence,
        event.at_ms,
        event.broker_id,
        event.topic or None,
        event.partition,
        event.group or None,
        id=event.pk,
    )


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Schedule(models.Model):
    """A job that is begun again and again: when (`cron` in `zone`, see `console/rules/schedules/timetable.py`), of which kind, and with
    which parameters (`console/jobs/scheduled.py`).

    `next_at` is the first due time of which nothing was decided yet, None while it is paused or where none comes. Whoever decides takes
    the row until `lease_until`; what was decided stands in a `ScheduleRun`, written in one transaction with the next `next_at` and the job.
    """

    MOST = 100
    """Of a cluster."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    name = NameField(max_length=100)
    kind = NameField(max_length=40)
    params = AnyJSONField(default=dict)
    cron = NameField(max_length=200)
    zone = NameField(max_length=64, default="UTC")
    paused = models.BooleanField(default=False)
    next_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    created_by = NameField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)
    changed_by = NameField(max_length=150, blank=True)
    changed_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["cluster", "name"], name="schedule_name")]
        indexes: ClassVar = [models.Index(fields=["next_at"])]

    def __str__(self) -> str:
        return self.name


class ScheduleRun(models.Model):
    """What became of one due time of a schedule, or of asking for it by hand. The job may be kept no longer than this row."""

    KEEP = 200
    """Of a schedule."""
    BEGUN, NOTHING, SKIPPED, MISSED, REFUSED = "begun", "nothing_to_do", "skipped", "missed", "refused"
    OUTCOMES = (BEGUN, NOTHING, SKIPPED, MISSED, REFUSED)

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE)
    due_at = models.DateTimeField()
    at = models.DateTimeField(default=timezone.now)
    by = NameField(max_length=150)
    outcome = NameField(max_length=14)
    said = NameField(max_length=1000, blank=True)
    job = models.ForeignKey(Job, on_delete=models.SET_NULL, null=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["schedule", "due_at"], name="one_run_a_due_time")]
        indexes: ClassVar = [models.Index(fields=["schedule", "-id"])]

    def __str__(self) -> str:
        return f"{self.schedule_id} {self.due_at:%Y-%m-%d %H:%M} {self.outcome}"


class ReturnElection(models.Model):
    """Whether the leaders of a broker that has returned are elected by themselves. `seen_event` is the last event that was looked at,
    `waiting` has the brokers that are back and whose copies are not all in sync yet: `{broker: since when, ms since 1970}`."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    is_on = models.BooleanField(default=False)
    seen_event = models.BigIntegerField(default=0)
    waiting = AnyJSONField(default=dict)
    set_by = NameField(max_length=150)
    set_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"elections after a return of {self.cluster_id} are {'on' if self.is_on else 'off'}"


class AlertRule(models.Model):
    """A condition on a figure of a cluster (`console/rules/alerts/figures.py`). `unless` is another rule, which waits for none itself:
    while that fires, this one does not begin to. `known_at_ms` is when its figure was last known of all that it looks at, `unknown_count`
    of how many it is not known now."""

    MOST = 100
    """Of a cluster."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    name = NameField(max_length=60)
    figure = NameField(max_length=40)
    comparison = NameField(max_length=2)
    threshold = models.FloatField()
    for_s = models.IntegerField()
    unless = models.ForeignKey("self", on_delete=models.SET_NULL, null=True)
    severity = NameField(max_length=10)
    sentence = NameField(max_length=300)
    is_on = models.BooleanField(default=True)
    is_shipped = models.BooleanField(default=False)
    looked_at_ms = models.BigIntegerField(null=True)
    known_at_ms = models.BigIntegerField(null=True)
    unknown_count = models.IntegerField(default=0)
    changed_by = NameField(max_length=150, blank=True)
    changed_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["cluster", "name"], name="alert_rule_name")]

    def __str__(self) -> str:
        return self.name


class Alert(models.Model):
    """A rule on one target (empty: the cluster): how it stands, until it is over. `is_told` where destinations were told that it fires.

    One that is over and was never more than pending is not kept."""

    KEEP = 5_000
    """Of a cluster, of those that are over."""
    PENDING, FIRING, OVER = "pending", "firing", "over"
    OPEN = (PENDING, FIRING)

    rule = models.ForeignKey(AlertRule, on_delete=models.CASCADE)
    target = NameField(max_length=255, blank=True)
    state = NameField(max_length=8)
    since_ms = models.BigIntegerField()
    clear_ms = models.BigIntegerField(null=True)
    known_ms = models.BigIntegerField(null=True)
    is_known = models.BooleanField(default=True)
    value = models.FloatField(null=True)
    is_told = models.BooleanField(default=False)
    over_ms = models.BigIntegerField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["rule", "target"], condition=models.Q(over_ms=None), name="one_open_alert_a_target")
        ]
        indexes: ClassVar = [models.Index(fields=["rule", "-id"]), models.Index(fields=["state"])]

    def __str__(self) -> str:
        return f"{self.rule_id} {self.target} {self.state}"


class AlertSilence(models.Model):
    """Nobody is told of a rule (None: of any) on a target (empty: on any) of a cluster until then."""

    MOST = 200
    """Of a cluster, at one time."""
    KEEP = 1_000

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    rule = models.ForeignKey(AlertRule, on_delete=models.CASCADE, null=True)
    target = NameField(max_length=255, blank=True)
    until = models.DateTimeField()
    why = NameField(max_length=300)
    by = NameField(max_length=150)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["cluster", "until"])]

    def __str__(self) -> str:
        return f"{self.cluster_id} until {self.until:%Y-%m-%d %H:%M}"


class AlertDestination(models.Model):
    """Where alerts of all clusters are told; `secrets` are sealed (`console/gateway/sealing.py`), `settings` are those of a mail server."""

    MOST = 20
    WEBHOOK, SLACK, MAIL = "webhook", "slack", "mail"
    KINDS = (WEBHOOK, SLACK, MAIL)

    name = NameField(max_length=60, unique=True)
    kind = NameField(max_length=8)
    settings = AnyJSONField(default=dict)
    secrets = models.TextField(blank=True, default="")
    is_on = models.BooleanField(default=True)
    set_by = NameField(max_length=150)
    set_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class AlertDelivery(models.Model):
    """One notice, or one health report, to one destination, written with what it tells of; `key` stays the same however often it is sent.
    Who sends it takes the row until `lease_until`; `next_at` is None once it was sent or has failed."""

    KEEP = 5_000

    destination = models.ForeignKey(AlertDestination, on_delete=models.CASCADE)
    alert = models.ForeignKey(Alert, on_delete=models.SET_NULL, null=True)
    report = models.ForeignKey(HealthReport, on_delete=models.SET_NULL, null=True)
    key = NameField(max_length=40, unique=True)
    notice = AnyJSONField(default=dict)
    at = models.DateTimeField(default=timezone.now)
    tries = models.IntegerField(default=0)
    next_at = models.DateTimeField(null=True, default=timezone.now)
    lease_until = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    error = NameField(max_length=300, blank=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["next_at"]), models.Index(fields=["destination", "-id"])]

    def __str__(self) -> str:
        return f"{self.key} to {self.destination_id}"
