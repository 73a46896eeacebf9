"""The workers' side of the queue: which tasks there are and when they come by themselves.

No acks_late: with Redis a long acks_late task runs a second time after the visibility timeout and a killed worker's comes back an hour
late; here a killed worker's step is simply sent again when its lease has ended.
"""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
os.environ["CELERY_SKIP_CHECKS"] = "true"  # they import all pages and all of REST, as those of `console/management/program.py` do

import django

django.setup()

from console.queue import queue  # noqa: E402

ADVANCE_EVERY_S = 2.0
LOOK_EVERY_S = 60.0
STAY_EVERY_S = 10.0
SCHEDULES_EVERY_S = 5.0
RETURNS_EVERY_S = 10.0
FIRST_EVERY_S = 30.0
ALERTS_EVERY_S = 15.0
NOTICES_EVERY_S = 5.0

app = queue()
app.conf.update(
    task_store_errors_even_if_ignored=False,
    task_acks_late=False,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    worker_max_tasks_per_child=500,
    timezone="UTC",
    enable_utc=True,
    imports=(
        *("workers.tasks.jobs", "workers.tasks.schedules", "workers.tasks.health", "workers.tasks.analytics", "workers.tasks.wanted"),
        "workers.tasks.alerts",
    ),
    beat_schedule={
        "advance unfinished jobs": {
            "task": "workers.tasks.jobs.advance_unfinished",
            "schedule": ADVANCE_EVERY_S,
            "options": {"queue": "jobs", "expires": ADVANCE_EVERY_S},
        },
        "schedules": {
            "task": "workers.tasks.schedules.look",
            "schedule": SCHEDULES_EVERY_S,
            "options": {"queue": "health", "expires": SCHEDULES_EVERY_S},
        },
        "brokers that have returned": {
            "task": "workers.tasks.schedules.look_for_returned_brokers",
            "schedule": RETURNS_EVERY_S,
            "options": {"queue": "health", "expires": RETURNS_EVERY_S},
        },
        "first health report": {
            "task": "workers.tasks.health.first",
            "schedule": FIRST_EVERY_S,
            "options": {"queue": "health", "expires": FIRST_EVERY_S},
        },
        "alerts": {
            "task": "workers.tasks.alerts.look_at_all",
            "schedule": ALERTS_EVERY_S,
            "options": {"queue": "health", "expires": ALERTS_EVERY_S},
        },
        "notices of alerts": {
            "task": "workers.tasks.alerts.send_all",
            "schedule": NOTICES_EVERY_S,
            "options": {"queue": "health", "expires": NOTICES_EVERY_S},
        },
        "drift": {
            "task": "workers.tasks.wanted.look_for_drift",
            "schedule": LOOK_EVERY_S,
            "options": {"queue": "health", "expires": LOOK_EVERY_S},
        },
        "analytics": {
            "task": "workers.tasks.analytics.periodic",
            "schedule": LOOK_EVERY_S,
            "options": {"queue": "analytics", "expires": LOOK_EVERY_S},
        },
        "the analytics driver that stays": {
            "task": "workers.tasks.analytics.stay",
            "schedule": STAY_EVERY_S,
            "options": {"queue": "analytics", "expires": STAY_EVERY_S},
        },
    },
)
