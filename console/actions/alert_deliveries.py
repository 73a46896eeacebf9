"""Sending what is due: each delivery under a lease, so that one worker sends it; what dies meanwhile is sent again with the same key.

A destination gets one delivery at a time, and after one that failed none for a while: one that hangs takes no more than one worker, and
that seldom.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

import msgspec
from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet

from console.actions import report_mails
from console.gateway import notifying
from console.gateway.notifying import NotSent
from console.gateway.sealing import SecretsUnreadable, unseal
from console.models import AlertDelivery, AlertDestination
from console.rules.alerts.notices import Notice, pause_s

log = logging.getLogger(__name__)
LEASE = timedelta(seconds=90)
"""Longer than a task that sends may take (`workers/tasks/alerts.py`)."""
BREATHER = timedelta(seconds=60)
"""What else is due at a destination waits so long after a failure there."""
AT_A_LOOK = 50
SWITCHED_OFF = "The destination was switched off."
REPORT_GONE = "The report was deleted before it could be sent."


def due_deliveries(now: datetime) -> list[int]:
    """The next one of each destination, what waits longest first."""
    rows = _due(now).order_by("next_at", "id").values_list("destination", "id")[: AT_A_LOOK * AlertDestination.MOST]
    first: dict[int, int] = {}
    for destination, delivery in rows:
        first.setdefault(destination, delivery)
    return list(first.values())[:AT_A_LOOK]


def due_at(destination_id: int, now: datetime) -> int | None:
    return _due(now).filter(destination=destination_id).order_by("next_at", "id").values_list("id", flat=True).first()


def _due(now: datetime) -> QuerySet[AlertDelivery]:
    """That something is over is told once that it fires was told, or could not be."""
    there = AlertDelivery.objects.filter(destination=OuterRef("destination"), next_at__isnull=False)
    earlier = there.filter(alert=OuterRef("alert"), id__lt=OuterRef("id"))
    return AlertDelivery.objects.filter(~Exists(there.filter(lease_until__gte=now)), ~Exists(earlier), next_at__lte=now)


def send_due(delivery_id: int, now: datetime) -> AlertDelivery | None:
    """None where somebody else sends it, or it is due no more. A try counts once it is begun: who kills its worker is tried no longer than
    another."""
    if not _due(now).filter(pk=delivery_id).update(lease_until=now + LEASE):
        return None
    row = AlertDelivery.objects.select_related("destination", "report__cluster").get(pk=delivery_id)
    row.tries += 1
    AlertDelivery.objects.filter(pk=row.pk).update(tries=row.tries)
    error = _sent(row)
    row.lease_until, row.error = None, error[:300]
    if not error:
        row.sent_at, row.next_at = now, None
    else:
        pause = None if error in (SWITCHED_OFF, REPORT_GONE) or row.notice["event"] == "test" else pause_s(row.tries)
        row.next_at = None if pause is None else now + timedelta(seconds=pause)
        of_itself = Q(alert__isnull=False) | Q(report__isnull=False)
        others = AlertDelivery.objects.filter(of_itself, destination=row.destination_id, next_at__lt=now + BREATHER)
        others.exclude(pk=row.pk).update(next_at=now + BREATHER)
    row.save(update_fields=["lease_until", "error", "sent_at", "next_at"])
    return row


def _sent(row: AlertDelivery) -> str:
    """Why it was not; empty where it was."""
    one = row.destination
    if not one.is_on and row.notice["event"] != "test":
        return SWITCHED_OFF
    try:
        secrets = unseal(one.secrets)
        if row.notice["event"] == report_mails.EVENT:
            return _sent_report(row, secrets.get("password", ""))
        notice = msgspec.convert(row.notice, Notice)
        if one.kind == AlertDestination.MAIL:
            notifying.send_notice_by_mail(one.settings, secrets.get("password", ""), notice, row.key)
        elif one.kind == AlertDestination.SLACK:
            notifying.send_slack(secrets, notice, private=settings.ALERTS_PRIVATE)
        else:
            notifying.send_webhook(secrets, notice, row.key, private=settings.ALERTS_PRIVATE)
    except (NotSent, SecretsUnreadable) as error:
        return str(error)
    except Exception as error:
        log.exception("delivery %d could not be sent", row.pk)
        return f"An error of ours: {type(error).__name__}."
    return ""


def _sent_report(row: AlertDelivery, password: str) -> str:
    found = report_mails.built(row)
    if found is None:
        return REPORT_GONE
    notifying.send_mail(row.destination.settings, password, found, row.key)
    return ""
