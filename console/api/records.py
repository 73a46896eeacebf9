"""What the console keeps: the audit and the health reports; and who the token is."""

from __future__ import annotations

from typing import Any

from ninja import Router

from console import queries
from console.api.answers import Listed
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.record_answers import AuditRow, Report, WhoAmI
from console.api.shapes import Limit, listed, number_cursor
from console.models import AuditEntry, HealthReport
from console.roles import ADMIN

router = Router(tags=["records"])


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


@router.get("/clusters/{cluster_id}/reports/{int:report_id}")
@answers(Report)
def report(request: Any, cluster_id: str, report_id: int) -> Report:
    found = HealthReport.objects.filter(cluster=queries.cluster_of(cluster_id), pk=report_id).first()
    if found is None:
        raise queries.NotFound(f"There is no report {report_id} of {cluster_id}.")
    return _report(found)


def _report(row: HealthReport) -> Report:
    return Report(**queries.report_value(row))
