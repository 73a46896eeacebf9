"""Queue `health`: compares each cluster with its wanted state, so that no page has to."""

from __future__ import annotations

import logging

from console.actions.wanted import look
from console.models import WantedState
from console.wanted.reading import Unreadable
from workers.app import app

log = logging.getLogger(__name__)


@app.task(name="workers.tasks.wanted.look_for_drift", soft_time_limit=110, time_limit=120)
def look_for_drift() -> None:
    """A cluster that does not answer keeps what was last seen, with its time."""
    for state in WantedState.objects.select_related("cluster"):
        try:
            look(state)
        except Unreadable as error:
            log.warning("the wanted state of %s cannot be read any more: %s", state.cluster_id, error)
