"""One cluster for all frameworks, as the clients' tests have it."""

from __future__ import annotations

from tests.clients.conftest import admin, cluster, new_topic, shared_cluster

__all__ = ["admin", "cluster", "new_topic", "shared_cluster"]
