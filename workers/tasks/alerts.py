"""Queue `health`: looks at the rules of each cluster, and sends what is due, to each destination in a task of its own."""

from __future__ import annotations

import logging
import time

from django.utils import timezone

from console.actions.alert_deliveries import due_at, due_deliveries, send_due
from console.actions.alert_looks import look
from console.clock import now_ms
from console.models import Cluster
from console.snapshot.read import Snapshot
from workers.app import app

log = logging.getLogger(__name__)
QUEUE = "health"
EXPIRES_S = 30
"""A task that waits longer has been sent anew."""
GOES_ON_S = 20


@app.task(name="workers.tasks.alerts.look_at_all", soft_time_limit=40, time_limit=50)
def look_at_all() -> None:
    """What goes wrong with one cluster keeps none of the others from being looked at."""
    for cluster in Cluster.objects.all():
        try:
            look(cluster, now_ms(), Snapshot(cluster.pk))
        except Exception:
            log.exception("the alerts of %s could not be judged", cluster.pk)


@app.task(name="workers.tasks.alerts.send_all", soft_time_limit=20, time_limit=30)
def send_all() -> None:
    """Where nothing is due, one query along an index."""
    for delivery_id in due_deliveries(timezone.now()):
        send.apply_async(args=(delivery_id,), queue=QUEUE, expires=EXPIRES_S)


@app.task(name="workers.tasks.alerts.send", soft_time_limit=60, time_limit=70)
def send(delivery_id: int) -> None:
    """And what is due at the same destination, as long as it takes it."""
    end = time.monotonic() + GOES_ON_S
    found = send_due(delivery_id, timezone.now())
    while found is not None and found.sent_at is not None and time.monotonic() < end:
        following = due_at(found.destination_id, timezone.now())
        found = None if following is None else send_due(following, timezone.now())
