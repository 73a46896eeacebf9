"""What a few letters may mean: a page, something to do, a broker, a topic, a group, a job, another cluster. Each leads to an address."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from django.urls import get_script_prefix, reverse

from console.listing import Wanted, page_of_names
from console.models import Cluster
from console.queries import ClusterRow
from console.roles import ADMIN, OPERATOR, VIEWER, Actor
from console.snapshot.read import Snapshot
from console.snapshot.sorting import Kind

CHARS_MAX = 255
EACH, LOOKED_AT = 8, 500
"""Of a kind: shown, and looked at for the best of them."""


class Offer(NamedTuple):
    """`kind` is a word that says what it is."""

    kind: str
    name: str
    url: str


class Place(NamedTuple):
    """A page by the name of its address, with words that it is looked for by besides its own, and who may go there."""

    page: str
    label: str
    words: str = ""
    role: str = VIEWER
    kind: str = "page"
    of_console: bool = False

    @property
    def url(self) -> str:
        """What is the console's and no cluster's has one address only."""
        found = reverse(self.page)
        return f"/{found.removeprefix(get_script_prefix())}" if self.of_console else found


PLACES = (
    Place("overview", "Overview"),
    Place("brokers", "Brokers"),
    Place("topology", "Topology", "picture brokers topics groups"),
    Place("heat_map", "Brokers and partitions", "heat map replicas"),
    Place("topics", "Topics"),
    Place("groups", "Groups", "consumer groups lag"),
    Place("lag", "Lag over time", "groups behind chart"),
    Place("controller", "Controller"),
    Place("znodes", "ZooKeeper", "znodes tree", OPERATOR),
    Place("jobs", "Jobs", "reassignments moves"),
    Place("schedules", "Schedules", "cron timer nightly elections"),
    Place("analytics", "Analytics", "spark throughput lag"),
    Place("health", "Health", "report"),
    Place("wanted", "Wanted state", "drift yaml apply"),
    Place("events", "Events", "timeline"),
    Place("changes", "What changed", "compare two moments"),
    Place("clusters", "Clusters", "switch", of_console=True),
    Place("settings", "Settings", "tokens"),
    Place("masking", "Masking rules", "hide fields of records", ADMIN),
    Place("schema_registry", "Schema registry", "avro protobuf json decode", ADMIN),
    Place("audit", "Audit", "who did what", ADMIN),
    Place("topic_create", "Create a topic", "new", OPERATOR, "do"),
    Place("cluster_new", "Register a cluster", "add connect", ADMIN, "do", of_console=True),
)


def find(cluster: Cluster, actor: Actor, clusters: Iterable[ClusterRow], text: str) -> list[Offer]:
    """The best of each kind first: what is called so, then what begins so, then what has it somewhere. `SnapshotUnavailable`."""
    wanted = text.strip().lower()[:CHARS_MAX]
    offers = [*_pages(cluster, actor, wanted), *_clusters(clusters, wanted)]
    if wanted:
        snapshot = Snapshot(cluster.snapshot_id)
        offers += [*_brokers(snapshot, wanted), *_jobs(wanted), *_named(snapshot, "topic", wanted), *_named(snapshot, "group", wanted)]
    return sorted(offers, key=lambda offer: _distance(offer.name, wanted)) if wanted else offers


def known_pages(cluster: Cluster, actor: Actor, clusters: Iterable[ClusterRow], text: str) -> list[Offer]:
    """What needs no snapshot."""
    wanted = text.strip().lower()[:CHARS_MAX]
    return [*_pages(cluster, actor, wanted), *_clusters(clusters, wanted)]


def _distance(name: str, wanted: str) -> int:
    lower = name.lower()
    return 0 if lower == wanted else 1 if lower.startswith(wanted) else 2


def _pages(cluster: Cluster, actor: Actor, wanted: str) -> Iterator[Offer]:
    """A cluster without ZooKeeper, as far as is known, has no tree of it to be led to."""
    for place in PLACES:
        if place.page == "znodes" and not cluster.zookeeper:
            continue
        if actor.may(place.role) and wanted in f"{place.label} {place.words}".lower():
            yield Offer(place.kind, place.label, place.url)


def _clusters(clusters: Iterable[ClusterRow], wanted: str) -> Iterator[Offer]:
    found = [row for row in clusters if wanted in row.cluster.name.lower()]
    yield from (Offer("cluster", row.cluster.name, row.url) for row in found[:EACH])


def _brokers(snapshot: Snapshot, wanted: str) -> Iterator[Offer]:
    number = wanted.removeprefix("broker").strip()
    found = [broker for broker in snapshot.brokers() if number and str(broker.broker_id).startswith(number)]
    yield from (Offer("broker", f"Broker {one.broker_id}", reverse("broker", args=[one.broker_id])) for one in found[:EACH])


def _jobs(wanted: str) -> Iterator[Offer]:
    number = wanted.removeprefix("job").strip()
    if number.isascii() and number.isdecimal() and len(number) < 10:
        yield Offer("job", f"Job {int(number)}", reverse("job", args=[int(number)]))


def _named(snapshot: Snapshot, kind: Kind, wanted: str) -> Iterator[Offer]:
    names = page_of_names(snapshot, Wanted(kind=kind, q=wanted), 1, LOOKED_AT).names
    for name in sorted(names, key=lambda name: _distance(name, wanted))[:EACH]:
        yield Offer(kind, name, reverse(kind, args=[name]))
