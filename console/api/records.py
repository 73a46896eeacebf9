"""What the console keeps: the audit and the health reports; and who the token is."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpResponse
from ninja import Query, Router

from console import queries
from console.addressing import base_of
from console.api.answers import Listed
from console.api.bearer import Bearer
from console.api.described import File, answers
from console.api.record_answers import (
    AuditRow,
    Changed,
    Check,
    Report,
    ReportDifference,
    ReportDifferences,
    ReportFinding,
    ReportMail,
    WhoAmI,
)
from console.api.shapes import Limit, listed, number_cursor
from console.models import AuditEntry, HealthReport
from console.report_files import PDF, answer
from console.reports import compared, report_of, value_of
from console.roles import ADMIN
from console.rules.report.changes import KINDS
from console.rules.report.mail import mail

router = Router(tags=["records"])
ONE = "/clusters/{cluster_id}/reports/{int:report_id}"
Since = Annotated[
    int | None,
    Query(ge=1, lt=2**63, description="Another report's id; default: the one that it was compared with at first"),
]


@router.get("/whoami")
@answers(WhoAmI)
def whoami(request: Any) -> WhoAmI:
    return WhoAmI(request.auth.name, request.auth.role)


@router.get("/audit", auth=Bearer(ADMIN, "read the audit"))
@answers(Listed[AuditRow])
def audit(request: Any, limit: Limit = 100, cursor: str | None = None, cluster: str = "") -> Listed[AuditRow]:
    """Newest first: every change and sign-in, whether it was allowed, and how it ended; of one cluster, or all."""
    of = queries.known_choice("cluster", cluster, queries.cluster_ids() if cluster else ())
    rows = [_audit_row(row) for row in queries.audit(number_cursor(cursor), limit + 1, of)]
    return listed(rows, limit, lambda row: str(row.id))


def _audit_row(row: AuditEntry) -> AuditRow:
    return AuditRow(row.pk, *(getattr(row, name) for name in AuditRow.__struct_fields__[1:]))


@router.get("/clusters/{cluster_id}/reports")
@answers(Listed[Report])
def reports(request: Any, cluster_id: str, limit: Limit = 20, cursor: str | None = None) -> Listed[Report]:
    """Health reports, newest first. A new one is a job of the kind `health_report`."""
    rows = HealthReport.objects.filter(cluster=queries.cluster_of(cluster_id)).order_by("-id")
    before = number_cursor(cursor)
    found = (rows if before is None else rows.filter(id__lt=before))[: limit + 1]
    return listed([_report(row) for row in found], limit, lambda row: str(row.id))


@router.get(ONE)
@answers(Report)
def report(request: Any, cluster_id: str, report_id: int) -> Report:
    return _report(report_of(queries.cluster_of(cluster_id), report_id))


@router.get(ONE + "/changes")
@answers(ReportDifferences)
def report_changes(request: Any, cluster_id: str, report_id: int, since: Since = None) -> ReportDifferences:
    """What differs from an older report, or any other, by rule and object."""
    cluster = queries.cluster_of(cluster_id)
    after = report_of(cluster, report_id)
    wanted = after.compared if since is None else since
    if wanted is None:
        raise queries.BadQuery("since", f"Report {after.pk} was compared with none when it was made: say which.")
    before = report_of(cluster, wanted)
    found = compared(before, after)
    rows = [ReportDifference(**one) for kind in found.values() for one in kind["items"]]
    return ReportDifferences(before.pk, after.pk, _counts(found), rows)


@router.get(ONE + "/pdf")
@answers(File((PDF,)))
def report_pdf(request: Any, cluster_id: str, report_id: int) -> HttpResponse:
    """The report on paper, A4."""
    cluster = queries.cluster_of(cluster_id)
    row = report_of(cluster, report_id)
    return answer(row, cluster, "pdf", "")


@router.get(ONE + "/mail")
@answers(ReportMail)
def report_mail(request: Any, cluster_id: str, report_id: int) -> ReportMail:
    """The report as a mail would have it; its links lead to the address that was asked."""
    cluster = queries.cluster_of(cluster_id)
    row = report_of(cluster, report_id)
    return ReportMail(*mail(value_of(row), cluster.name, request.build_absolute_uri("/").rstrip("/") + base_of(cluster.pk)))


def _report(row: HealthReport) -> Report:
    found = value_of(row)
    return Report(**found | {"checks": list(map(_check, row.checks)), "changed": _changed(row.changed)})


def _check(check: dict[str, Any]) -> Check:
    findings = [ReportFinding(*(one[name] for name in ReportFinding.__struct_fields__)) for one in check["findings"]]
    rest = {name: check[name] for name in ("id", "number", "title", "level", "sentence", "unknown", "count")}
    return Check(**rest, items=[one.sentence for one in findings], findings=findings)


def _changed(found: dict[str, Any]) -> Changed:
    return Changed(**{kind: [one["sentence"] for one in found[kind]["items"]] for kind in KINDS}, counts=_counts(found))


def _counts(found: dict[str, Any]) -> dict[str, int]:
    return {kind: found[kind]["count"] for kind in KINDS}
