"""`manage.py health`: 0 while `live` keeps the own cluster's snapshot (`--collector`: while `collect` runs), 1 and a sentence where it does
not; for health checks."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from console.api.probes import LIVE_OLD_MS
from console.snapshot.read import Snapshot, SnapshotUnavailable, collector_ms


class Command(BaseCommand):
    help = "Whether the live snapshot is kept."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--collector", action="store_true", help="whether the collector of other clusters runs")

    def handle(self, *args: Any, **options: Any) -> None:
        what = "the collector" if options["collector"] else "the snapshot"
        try:
            at_ms = collector_ms() if options["collector"] else Snapshot(settings.LOCAL_CLUSTER).beat_ms()
        except SnapshotUnavailable as error:
            raise CommandError(str(error)) from error
        age_ms = None if at_ms is None else int(time.time() * 1000) - at_ms
        if age_ms is None or age_ms > LIVE_OLD_MS:
            raise CommandError(f"{what} has never been written" if age_ms is None else f"{what} is {age_ms / 1000:.0f} s old")
        self.stdout.write("kept")
