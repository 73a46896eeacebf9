"""Settings changed while brokers run, seen through `/config/changes`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest

from broker_core.coordination import layout
from broker_core.coordination.config_changes import AGAIN_MS, EXPIRY_MS, ConfigChanges
from broker_core.coordination.store import StoreError
from broker_core.coordination.znode_data import encode_config, encode_config_change
from tests.support.controller_world import FolderDisk, World, make_node
from tests.support.memory_store.client import MemoryStore

pytestmark = pytest.mark.spec("O1")


class Watched:
    """A store, a watcher on it, and what it was told."""

    def __init__(self) -> None:
        self.world = World()
        self.store = MemoryStore(self.world.ensemble, self.world.clock)
        self.seen: list[tuple[str, Mapping[str, str]]] = []
        node = make_node(self.world.clock, self.store, FolderDisk())
        self.changes = ConfigChanges(node, lambda entity, overrides: self.seen.append((entity, overrides)))

    async def start(self) -> None:
        await self.store.connect(1_000)
        await self.changes.start()

    async def change(self, entity: str, overrides: Mapping[str, str] | None) -> None:
        """As an administrator's broker does it: the settings first, then the notification."""
        operator, path = self.world.operator, f"{layout.CONFIGS}/{entity}"
        if overrides is not None and await operator.exists(path) is None:
            await operator.create(path, encode_config(overrides))
        elif overrides is not None:
            await operator.set(path, encode_config(overrides))
        await operator.create(f"{layout.CONFIG_CHANGES}/config_change_", encode_config_change(entity), sequence=True)
        await self.world.settle()


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    made = Watched()
    await made.world.operator.connect(1_000)
    await layout.ensure_layout(made.world.operator)
    yield made
    await made.changes.stop()
    await made.store.close()


async def test_reads_everything_at_the_start(watched: Watched) -> None:
    await watched.change("topics/t", {"retention.ms": "5"})
    await watched.change("brokers/<default>", {"log.cleaner.threads": "2"})
    await watched.start()
    assert watched.seen == [("topics/t", {"retention.ms": "5"}), ("brokers/<default>", {"log.cleaner.threads": "2"})]


async def test_tells_of_changes_and_removed_settings(watched: Watched) -> None:
    await watched.start()
    await watched.change("topics/t", {"retention.ms": "5"})
    await watched.change("topics/t", {"retention.ms": "6"})
    await watched.world.operator.delete(layout.config_path("topics", "t"))
    await watched.change("topics/t", None)
    assert watched.seen == [("topics/t", {"retention.ms": "5"}), ("topics/t", {"retention.ms": "6"}), ("topics/t", {})]


@pytest.mark.parametrize("error", [RuntimeError("of ours"), StoreError("of a kind that nobody foresaw")])
async def test_an_error_that_nobody_foresaw_does_not_end_it(watched: Watched, error: Exception) -> None:
    """A broker would go on with the settings of that moment for good."""
    await watched.start()
    refusals = [error]

    def told(entity: str, overrides: Mapping[str, str]) -> None:
        if refusals:
            raise refusals.pop()
        watched.seen.append((entity, overrides))

    watched.changes._on_change = told
    await watched.change("topics/t", {"retention.ms": "5"})
    await watched.world.advance(AGAIN_MS)
    await watched.world.settle()
    assert watched.seen == [("topics/t", {"retention.ms": "5"})]
    await watched.change("topics/t", {"retention.ms": "6"})
    assert watched.seen[-1] == ("topics/t", {"retention.ms": "6"})


async def test_reads_everything_again_after_a_broken_connection(watched: Watched) -> None:
    """Notifications may be gone by then, and a lost watch is set again."""
    await watched.start()
    watched.store.disconnect()
    await watched.change("topics/t", {"retention.ms": "5"})
    watched.store._watches.clear()
    watched.store.reconnect()
    await watched.world.settle()
    assert watched.seen[-1] == ("topics/t", {"retention.ms": "5"})
    await watched.change("topics/t", {"retention.ms": "6"})
    assert watched.seen[-1] == ("topics/t", {"retention.ms": "6"})


async def test_reads_everything_again_in_a_new_session(watched: Watched) -> None:
    await watched.start()
    watched.store.expire()
    await watched.change("topics/t", {"retention.ms": "5"})
    await watched.store.connect(1_000)
    await watched.world.settle()
    assert watched.seen == [("topics/t", {"retention.ms": "5"})]


async def test_old_notifications_are_deleted(watched: Watched) -> None:
    """Bounded: those older than a quarter of an hour go with the next one."""
    await watched.start()
    await watched.change("topics/t", {"retention.ms": "5"})
    await watched.world.advance(EXPIRY_MS)
    await watched.change("topics/t", {"retention.ms": "6"})
    assert len(await watched.world.operator.children(layout.CONFIG_CHANGES)) == 1


async def test_malformed_znodes_are_left_out(watched: Watched) -> None:
    await watched.start()
    await watched.world.operator.create(f"{layout.CONFIG_CHANGES}/config_change_", b"what", sequence=True)
    await watched.world.operator.create(layout.config_path("topics", "bad"), b"[]")
    await watched.change("topics/bad", None)
    await watched.change("topics/t", {"retention.ms": "5"})
    assert watched.seen == [("topics/t", {"retention.ms": "5"})]
