"""A person's favourite topics and groups: theirs alone, so no role is asked for and no row of the audit tells of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from console.errors import Invalid
from console.models import Cluster, Favourite
from console.rules.words import counted
from console.snapshot.sorting import Kind


def favourites(user: Any, cluster: Cluster, kind: Kind) -> set[str]:
    """At most `Favourite.KEEP` names."""
    return set(Favourite.objects.filter(user=user, cluster=cluster, kind=kind).values_list("name", flat=True))


def add_favourites(user: Any, cluster: Cluster, kind: Kind, names: Collection[str]) -> int:
    """How many were none yet."""
    new = sorted(set(names) - favourites(user, cluster, kind))
    if len(new) + Favourite.objects.filter(user=user, cluster=cluster, kind=kind).count() > Favourite.KEEP:
        raise Invalid(
            "name", f"You can have {counted(Favourite.KEEP, f'favourite {kind}')} of a cluster: take the star of another one away first."
        )
    rows = [Favourite(user=user, cluster=cluster, kind=kind, name=name) for name in new]
    Favourite.objects.bulk_create(rows, ignore_conflicts=True)
    return len(new)


def drop_favourite(user: Any, cluster: Cluster, kind: Kind, name: str) -> None:
    Favourite.objects.filter(user=user, cluster=cluster, kind=kind, name=name).delete()
