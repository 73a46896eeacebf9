"""A LeaderAndIsr that cannot be carried out now comes again."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from broker_core.coordination.store import ConnectionLoss, SessionExpired, StoreError
from broker_core.errors import CloseConnection
from broker_core.handlers import leader_and_isr
from broker_core.handlers.registry import Request

pytestmark = pytest.mark.spec("Z5")


@pytest.mark.parametrize("error", [ConnectionLoss("gone"), SessionExpired("over")])
async def test_no_leader_begins_while_its_settings_cannot_be_read(error: StoreError) -> None:
    """The connection ends, as after any fault that sending again can mend, and no role changes."""

    async def ensure_loaded(topics: Iterable[str]) -> None:
        assert list(topics) == ["orders"]
        raise error

    broker = SimpleNamespace(admin=SimpleNamespace(watcher=SimpleNamespace(ensure_loaded=ensure_loaded)))
    body = SimpleNamespace(topic_states=[SimpleNamespace(topic_name="orders")])
    request = cast(Request, cast(Any, SimpleNamespace(body=body, broker=broker)))
    with pytest.raises(CloseConnection, match=str(error)):
        await leader_and_isr.handle(request)
