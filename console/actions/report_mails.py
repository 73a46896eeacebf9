"""Health reports by mail: each is put on its way to the destinations that want it when it is made, and built when it is sent."""

from __future__ import annotations

from django.conf import settings

from console.addressing import base_of
from console.models import AlertDelivery, AlertDestination, HealthReport, trim
from console.reports import value_of
from console.rules.report import told
from console.rules.report.mail import Mail, mail

EVENT = "report"
"""Of the delivery's notice, which says nothing else."""


def put_on_its_way(report: HealthReport) -> int:
    """To how many; asking twice puts nothing twice."""
    has_news = report.compared is None or bool(told.summary(report.changed))
    wanted = ("all", "news") if has_news else ("all",)
    mails = AlertDestination.objects.filter(kind=AlertDestination.MAIL, is_on=True)
    found = [one for one in mails if one.settings.get("reports") in wanted]
    for one in found:
        made = {"destination": one, "report": report, "notice": {"event": EVENT}}
        AlertDelivery.objects.get_or_create(key=f"report-{report.pk}-{one.pk}", defaults=made)
    trim(AlertDelivery.objects.all(), AlertDelivery.KEEP)
    return len(found)


def built(delivery: AlertDelivery) -> Mail | None:
    """None where the report is kept no longer. Its links begin as those of alerts do (`alert_looks.notice_of`)."""
    report = delivery.report
    if report is None:
        return None
    origin = settings.ORIGINS[0] if settings.ORIGINS else ""
    return mail(value_of(report), report.cluster.name, origin + base_of(report.cluster_id) if origin else "")
