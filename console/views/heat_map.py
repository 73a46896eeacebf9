"""Where each broker stands in each partition: a part of the overview, and a page of its own."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from broker_core.contract.partitions import Topic
from console import queries
from console.heat_map import LEVELS, WORDS
from console.heat_map import heat_map as drawn
from console.snapshot.placed import Place
from console.snapshot.read import Snapshot
from console.views.support import note_query, page, show

PARTITIONS_MAX, TOPICS_MAX = 1_000, 200
"""Of one picture."""


@page(query=("from",))
def heat_map(request: Any) -> HttpResponse:
    """`from` is the topic that it begins with; a picture has so many topics and partitions at most."""
    snapshot = Snapshot(request.cluster.snapshot_id)
    names = snapshot.topic_names()
    first = request.GET.get("from", "")
    if first and first not in names:
        note_query(request, f"{queries.absent(snapshot, f'topic {first[:60]!r}')} The picture begins with the first.")
    begin = names.index(first) if first in names else 0
    topics, places = _fitting(snapshot.topics(names[begin : begin + TOPICS_MAX]))
    after = begin + len(topics)
    context = {
        "map": drawn(snapshot.partitions_at(places), {one.broker_id: one.state == "online" for one in snapshot.brokers()}),
        "legend": [(kind, words, LEVELS[kind]) for kind, words in WORDS.items()],
        "total": len(names),
        "first": begin + 1,
        "last": after,
        "next": names[after] if after < len(names) else None,
        "cut": sum(one.partitions or 0 for one in topics) > len(places),
        "most": PARTITIONS_MAX,
        "age": snapshot.as_of(),
    }
    return show(request, "heat_map", context)


def _fitting(topics: list[Topic]) -> tuple[list[Topic], list[Place]]:
    """As many topics as fit whole, one at least."""
    taken: list[Topic] = []
    places: list[Place] = []
    for one in topics:
        count = one.partitions or 0
        if taken and len(places) + count > PARTITIONS_MAX:
            break
        taken.append(one)
        places += [Place(one.topic, number) for number in range(min(count, PARTITIONS_MAX))]
    return taken, places
