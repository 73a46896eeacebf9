"""A health report as a file: PDF, HTML, plain text, JSON; for pages and REST alike."""

from __future__ import annotations

import msgspec
from django.http import HttpResponse

from console.models import Cluster, HealthReport
from console.report_pdf import pdf
from console.reports import value_of
from console.rules.report.mail import mail

PDF = "application/pdf"
MEDIA = {"pdf": PDF, "html": "text/html; charset=utf-8", "txt": "text/plain; charset=utf-8", "json": "application/json"}


def answer(row: HealthReport, cluster: Cluster, kind: str, address: str) -> HttpResponse:
    """To be kept, not shown; `kind` is one of `MEDIA`, `address` where the cluster's pages are for who asks."""
    headers = {"Content-Disposition": f'attachment; filename="health-{cluster.pk}-{row.pk}.{kind}"'}
    return HttpResponse(_written(row, cluster, kind, address), content_type=MEDIA[kind], headers=headers)


def _written(row: HealthReport, cluster: Cluster, kind: str, address: str) -> bytes:
    value = value_of(row)
    if kind == "pdf":
        return pdf(value, cluster.name)
    if kind == "json":
        return msgspec.json.encode(value)
    found = mail(value, cluster.name, address)
    return (found.html if kind == "html" else found.text).encode()
