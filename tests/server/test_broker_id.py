"""The id of a broker that is given none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from broker_core.config import BrokerConfig
from broker_core.seams import Disk
from broker_core.server.adapters.disk import RealDisk
from broker_core.server.broker_id import with_broker_id
from tests.support.admin_world import AdminWorld


@pytest_asyncio.fixture
async def world() -> AsyncIterator[AdminWorld]:
    world = await AdminWorld.start()
    yield world
    await world.close()


def config(folder: Path, broker_id: str = "-1") -> BrokerConfig:
    return BrokerConfig.load({"broker.id": broker_id, "log.dirs": str(folder), "reserved.broker.max.id": "500"})


async def test_ids_are_counted_above_those_given_by_hand(world: AdminWorld, tmp_path: Path) -> None:
    made = [await with_broker_id(config(tmp_path), RealDisk(), world.store) for _ in range(2)]
    assert [each.broker_id for each in made] == [501, 502]
    assert made[0].with_overrides({"message.max.bytes": "5"}).broker_id == 501, "which stays possible when settings change"


async def test_a_folder_keeps_its_broker_s_id(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("#\ncluster.id=x\nversion=0\nbroker.id=1007\n")
    assert (await with_broker_id(config(tmp_path), RealDisk(), cast(Any, None))).broker_id == 1007


async def test_a_given_id_asks_nobody(tmp_path: Path) -> None:
    assert (await with_broker_id(config(tmp_path, "7"), cast(Disk, None), cast(Any, None))).broker_id == 7


@pytest.mark.parametrize("broker_id", ["501", "-2"])
def test_ids_that_cannot_be_given(tmp_path: Path, broker_id: str) -> None:
    with pytest.raises(Exception, match=r"broker\.id"):
        config(tmp_path, broker_id)
