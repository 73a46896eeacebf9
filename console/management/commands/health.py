"""`manage.py health`: 0 while `live` keeps the own cluster's snapshot, 1 and a sentence where it does not; for health checks."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from console.api.probes import LIVE_OLD_MS
from console.snapshot.read import Snapshot, SnapshotUnavailable


class Command(BaseCommand):
    help = "Whether the live snapshot is kept."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            beat_ms = Snapshot(settings.LOCAL_CLUSTER).beat_ms()
        except SnapshotUnavailable as error:
            raise CommandError(str(error)) from error
        age_ms = None if beat_ms is None else int(time.time() * 1000) - beat_ms
        if age_ms is None or age_ms > LIVE_OLD_MS:
            raise CommandError("the snapshot has never been written" if age_ms is None else f"the snapshot is {age_ms / 1000:.0f} s old")
        self.stdout.write("kept")
