"""Which page shows what an event is about, as it was then. Pure; `static/js/bind.js` has the same for events that come while one looks."""

from __future__ import annotations

from urllib.parse import quote

from broker_core.contract.sentences import Event

COMES_AND_GOES = ("topic_created", "topic_deleted", "topic_deleting")
"""At that moment the topic's own page may not be there: the list of all is."""


def place_of(event: Event) -> str:
    """Its address within the cluster."""
    if event.topic and event.kind not in COMES_AND_GOES:
        page = f"/topics/{quote(event.topic, safe='')}"
        return page if event.partition is None else f"{page}/{event.partition}"
    if event.topic:
        return "/topics"
    if event.group:
        return f"/groups/{quote(event.group, safe='')}"
    return "/" if event.broker_id is None else f"/brokers/{event.broker_id}"
