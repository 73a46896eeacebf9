"""`manage.py health`: 0 while `live` keeps the own cluster's snapshot (`--collector`, `--history`: while those run), else 1 and a
sentence; for health checks."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandError, CommandParser

from console.management.program import Program
from console.snapshot.freshness import LIVE_OLD_MS
from console.snapshot.read import SnapshotUnavailable, beats

WHAT = {"live": "the snapshot", "collector": "the collector", "history": "the recorder"}


class Command(Program):
    help = "Whether the live snapshot is kept."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--collector", action="store_const", dest="part", const="collector", default="live", help="of other clusters")
        parser.add_argument("--history", action="store_const", dest="part", const="history", help="the recorder of the past")

    def handle(self, *args: Any, **options: Any) -> None:
        what = WHAT[options["part"]]
        try:
            at_ms = beats()[options["part"]]
        except SnapshotUnavailable as error:
            raise CommandError(str(error)) from error
        age_ms = None if at_ms is None else int(time.time() * 1000) - at_ms
        if age_ms is None or age_ms > LIVE_OLD_MS:
            raise CommandError(f"{what} has never been written" if age_ms is None else f"{what} is {age_ms / 1000:.0f} s old")
        self.stdout.write("kept")
