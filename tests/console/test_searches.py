"""What keeps a search: that somebody looks at it, by page or through REST."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from console.actions.records import search_records
from console.models import Cluster
from console.roles import Actor
from console.rules.records.query import Query
from console.searches import store
from console.snapshot.connect import sync_client

PARTS = ("search", "progress")


@pytest.mark.usefixtures("shown", "kafka")
@pytest.mark.parametrize("path", ["", "/records"])
def test_each_look_through_rest_keeps_a_search_and_tells_that_somebody_follows(
    tokens: dict[str, dict[str, str]], local: Cluster, path: str
) -> None:
    search = search_records(Actor("viewer", "viewer", "rest"), local, "orders", Query(start="live"))
    client: Any = sync_client()
    for part in PARTS:
        client.expire(f"hw-records:{search.id}:{part}", 5)
    assert store.looked_ms(search.id) == 0
    answer = Client().get(f"/api/v1/clusters/local/searches/{search.id}{path}", headers=tokens["viewer"])
    assert answer.status_code == 200
    assert store.looked_ms(search.id) > 0
    assert [client.ttl(f"hw-records:{search.id}:{part}") > 5 for part in PARTS] == [True, True]
