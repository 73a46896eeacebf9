"""Settings: describing, changing and following them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from broker_core.admin.config_entries import ConfigSource
from broker_core.admin.configs import ConfigChange, ConfigOperation, ResourceType, apply_changes
from broker_core.admin.topics import NewTopic
from broker_core.config import TOPIC_KEYS
from broker_core.coordination.layout import CONFIG_CHANGES, config_path
from broker_core.coordination.store import Create
from broker_core.coordination.znode_data import decode_config, encode_config, encode_config_change
from broker_core.errors import ConfigError, ErrorCode, KafkaError
from tests.support.admin_world import AdminWorld

pytestmark = pytest.mark.spec("O1")

TOPIC, BROKER = ResourceType.TOPIC, ResourceType.BROKER


@pytest_asyncio.fixture
async def world() -> AsyncIterator[AdminWorld]:
    world = await AdminWorld.start(**{"log.retention.ms": "5000"})
    await world.admin.create_topic(NewTopic("t", 1, 1))
    world.lead("t", {0: 1})
    await world.admin.watcher.start()
    yield world
    await world.close()


def setting(name: str, value: str | None) -> ConfigChange:
    return ConfigChange(name, ConfigOperation.SET, value)


async def until_topic(world: AdminWorld, topic: str) -> None:
    """Waits for the next change of a topic's settings in force."""
    changed = asyncio.Event()
    world.config.on_topic_change(lambda name: changed.set() if name == topic else None)
    await asyncio.wait_for(changed.wait(), 5)


def entry(world: AdminWorld, kind: ResourceType, name: str, key: str) -> tuple[str | None, ConfigSource, list[ConfigSource]]:
    found = next(e for e in world.admin.configs.describe(kind, name) if e.name == key)
    return found.value, found.source, [synonym.source for synonym in found.synonyms]


async def test_a_change_reaches_the_settings_in_force(world: AdminWorld) -> None:
    waiting = asyncio.ensure_future(until_topic(world, "t"))
    await asyncio.sleep(0)
    await world.admin.configs.alter(TOPIC, "t", [setting("min.insync.replicas", "2")], validate_only=False)
    await waiting
    assert world.config.topic("t").min_insync_replicas == 2
    assert entry(world, TOPIC, "t", "min.insync.replicas") == ("2", ConfigSource.TOPIC, [ConfigSource.TOPIC, ConfigSource.DEFAULT])


async def test_sources_of_values(world: AdminWorld) -> None:
    static = [ConfigSource.STATIC_BROKER]
    assert entry(world, TOPIC, "t", "retention.ms") == ("5000", ConfigSource.STATIC_BROKER, [*static, ConfigSource.DEFAULT])
    assert entry(world, TOPIC, "t", "segment.bytes")[1] is ConfigSource.DEFAULT
    assert entry(world, BROKER, "1", "log.retention.ms")[:2] == ("5000", ConfigSource.STATIC_BROKER)


async def test_a_setting_given_with_its_default_is_told_as_given() -> None:
    world = await AdminWorld.start(**{"num.partitions": "1"})
    try:
        given = [ConfigSource.STATIC_BROKER, ConfigSource.DEFAULT]
        assert entry(world, BROKER, "1", "num.partitions") == ("1", ConfigSource.STATIC_BROKER, given)
        assert entry(world, BROKER, "1", "default.replication.factor") == ("1", ConfigSource.DEFAULT, [ConfigSource.DEFAULT])
    finally:
        await world.close()


async def test_broker_settings_own_before_default(world: AdminWorld) -> None:
    await world.admin.configs.alter(BROKER, "", [setting("min.insync.replicas", "2")], validate_only=False)
    await world.admin.configs.alter(BROKER, "1", [setting("min.insync.replicas", "3")], validate_only=False)
    async with asyncio.timeout(60):
        while world.config.current.min_insync_replicas != 3:
            await asyncio.sleep(0.005)
    assert entry(world, BROKER, "1", "min.insync.replicas") == (
        "3",
        ConfigSource.DYNAMIC_BROKER,
        [ConfigSource.DYNAMIC_BROKER, ConfigSource.DYNAMIC_DEFAULT_BROKER, ConfigSource.DEFAULT],
    )
    assert [e.name for e in world.admin.configs.describe(BROKER, "")] == ["min.insync.replicas"]


async def test_settings_without_effect_are_set_and_described() -> None:
    """`kafka-configs --add-config log.cleaner.threads=2`; all are told of, as Kafka tells of them."""
    world = await AdminWorld.start(**{"num.io.threads": " 10 ", "ssl.key.password": "hidden"})
    try:
        await world.admin.watcher.start()
        names = [e.name for e in world.admin.configs.describe(BROKER, "1")]
        assert {"num.io.threads", "log.cleaner.threads"} < set(names) and names == sorted(names)
        assert "log.initial.task.delay.ms" not in names, "Kafka does not tell of what is its own"
        given = [ConfigSource.STATIC_BROKER, ConfigSource.DEFAULT]
        assert entry(world, BROKER, "1", "num.io.threads") == ("10", ConfigSource.STATIC_BROKER, given)
        assert entry(world, BROKER, "1", "log.cleaner.threads") == ("1", ConfigSource.DEFAULT, [ConfigSource.DEFAULT])
        with pytest.raises(KafkaError, match=r"log\.cleaner\.threads"):
            await world.admin.configs.alter(BROKER, "", [setting("log.cleaner.threads", "3")], validate_only=False)
        await world.admin.configs.alter(BROKER, "", [setting("log.cleaner.threads", "1")], validate_only=False)
        await world.admin.configs.alter(BROKER, "1", [setting("log.cleaner.threads", "2")], validate_only=False)
        async with asyncio.timeout(60):
            while world.config.broker_overrides != {"log.cleaner.threads": "2"}:
                await asyncio.sleep(0.005)
        places = [ConfigSource.DYNAMIC_BROKER, ConfigSource.DYNAMIC_DEFAULT_BROKER, ConfigSource.DEFAULT]
        assert entry(world, BROKER, "1", "log.cleaner.threads") == ("2", ConfigSource.DYNAMIC_BROKER, places)
        assert entry(world, BROKER, "1", "ssl.key.password")[0] is None
        assert "hidden" not in repr(world.admin.configs.describe(BROKER, "1"))
        assert [(e.name, e.value) for e in world.admin.configs.describe(BROKER, "")] == [("log.cleaner.threads", "1")]
        for name, value in (("log.cleaner.threads", "many"), ("request.timeout.ms", "1"), ("ssl.key.password", "x")):
            with pytest.raises(KafkaError, match=name.replace(".", r"\.")):
                await world.admin.configs.alter(BROKER, "1", [setting(name, value)], validate_only=False)
    finally:
        await world.close()


async def test_validate_only_and_wrong_changes_write_nothing(world: AdminWorld) -> None:
    before = await world.store.children(CONFIG_CHANGES)
    await world.admin.configs.alter(TOPIC, "t", [setting("retention.ms", "1")], validate_only=True)
    with pytest.raises(ConfigError):
        await world.admin.configs.alter(TOPIC, "t", [setting("retention.ms", "soon")], validate_only=False)
    with pytest.raises(KafkaError, match=r"log\.dirs"):
        await world.admin.configs.alter(BROKER, "1", [setting("log.dirs", "/x")], validate_only=False)
    for kind, name, code in (
        (TOPIC, "nothing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
    ):
        with pytest.raises(KafkaError) as caught:
            await world.admin.configs.alter(kind, name, [setting("retention.ms", "1")], validate_only=False)
        assert caught.value.code is code
    assert await world.store.children(CONFIG_CHANGES) == before


async def test_lists_are_appended_to_and_subtracted_from(world: AdminWorld) -> None:
    """KIP-339: appending to a list that is not set starts from its default."""

    async def change(operation: ConfigOperation, value: str) -> str:
        await world.admin.configs.alter(TOPIC, "t", [ConfigChange("cleanup.policy", operation, value)], validate_only=False)
        return decode_config((await world.store.get(config_path("topics", "t")))[0])["cleanup.policy"]

    assert await change(ConfigOperation.APPEND, "compact") == "delete,compact"
    assert await change(ConfigOperation.SUBTRACT, "delete") == "compact"
    with pytest.raises(KafkaError) as caught:
        await world.admin.configs.alter(TOPIC, "t", [ConfigChange("retention.ms", ConfigOperation.APPEND, "1")], validate_only=False)
    assert caught.value.code is ErrorCode.INVALID_CONFIG


async def test_replacing_drops_what_is_not_named(world: AdminWorld) -> None:
    await world.admin.configs.alter(TOPIC, "t", [setting("retention.ms", "1")], validate_only=False)
    await world.admin.configs.replace(TOPIC, "t", {"segment.ms": "100"}, validate_only=False)
    assert decode_config((await world.store.get(config_path("topics", "t")))[0]) == {"segment.ms": "100"}


async def test_settings_of_a_new_topic_are_read_before_it_is_served(world: AdminWorld) -> None:
    await world.store.multi([Create(config_path("topics", "new"), encode_config({"min.insync.replicas": "2"}))])
    await world.admin.watcher.ensure_loaded(["new"])
    assert world.config.topic("new").min_insync_replicas == 2
    world.admin.watcher.forget("new")
    assert world.config.topic("new").min_insync_replicas == 1


async def test_settings_go_with_their_topic(world: AdminWorld) -> None:
    await world.store.create(config_path("topics", "new"), encode_config({"min.insync.replicas": "2"}))
    await world.admin.watcher.ensure_loaded(["new"])
    world.lead("new", {0: 1, 1: 1})
    world.lead("new", {0: -2})
    assert world.config.topic("new").min_insync_replicas == 2
    world.lead("new", {1: -2})
    assert world.config.topic("new").min_insync_replicas == 1


async def test_a_new_topic_with_a_rubbish_config_znode_is_served_with_the_brokers_settings(
    world: AdminWorld, caplog: pytest.LogCaptureFixture
) -> None:
    await world.store.create(config_path("topics", "new"), b"\xff{")
    await world.admin.watcher.ensure_loaded(["new"])
    assert world.config.topic("new").retention_ms == 5000
    assert "settings in ZooKeeper are refused" in caplog.text


async def test_what_is_told_of_a_topic_is_what_the_store_has(world: AdminWorld) -> None:
    """A change through another broker is told before the notification of it has come here."""
    await world.store.set(config_path("topics", "t"), encode_config({"retention.ms": "1"}))
    await world.admin.watcher.refresh(["t"])
    assert entry(world, TOPIC, "t", "retention.ms")[0] == "1"
    await world.store.set(config_path("topics", "t"), b"\xff{")
    await world.admin.watcher.refresh(["t", "u"])
    assert entry(world, TOPIC, "t", "retention.ms")[0] == "1"


async def test_refused_settings_in_the_store_leave_the_old_ones(world: AdminWorld, caplog: pytest.LogCaptureFixture) -> None:
    await world.store.set(config_path("topics", "t"), encode_config({"retention.ms": "never"}))
    waiting = asyncio.ensure_future(until_topic(world, "u"))
    await world.store.create(config_path("topics", "u"), encode_config({"retention.ms": "1"}))
    for topic in ("t", "u"):
        await world.store.create(f"{CONFIG_CHANGES}/config_change_", encode_config_change(f"topics/{topic}"), sequence=True)
    await waiting
    assert world.config.topic("t").retention_ms == 5000
    assert "settings in ZooKeeper are refused" in caplog.text


async def test_a_change_that_contradicts_the_other_settings_is_refused(world: AdminWorld) -> None:
    """As in Kafka. Written down, it would be refused by every broker that reads it, and all later ones beside it with it."""
    contradiction = [setting("replica.lag.time.max.ms", "400")]
    for name in ("", "1"):
        with pytest.raises(KafkaError, match=r"replica\.lag\.time\.max\.ms") as caught:
            await world.admin.configs.alter(BROKER, name, contradiction, validate_only=False)
        assert caught.value.code is ErrorCode.INVALID_REQUEST
    assert await world.store.exists(config_path("brokers", "1")) is None


async def test_a_silent_store_is_not_waited_for_longer_than_a_session(caplog: pytest.LogCaptureFixture) -> None:
    """Settings are told as they were last read; a change not sent by then is never made."""
    world = await AdminWorld.start(**{"zookeeper.session.timeout.ms": "500"})
    await world.admin.create_topic(NewTopic("t", 1, 1, {}, {"retention.ms": "7"}))
    world.lead("t", {0: 1})
    await world.admin.watcher.ensure_loaded(["t"])
    world.store.disconnect()
    async with asyncio.timeout(60):
        await world.admin.watcher.refresh(["t"])
        assert "settings are told as they were last read" in caplog.text
        with pytest.raises(KafkaError, match="did not answer") as caught:
            await world.admin.configs.alter(TOPIC, "t", [setting("retention.ms", "1")], validate_only=False)
    assert caught.value.code is ErrorCode.REQUEST_TIMED_OUT
    world.store.reconnect()
    await world.admin.watcher.refresh(["t"])
    assert entry(world, TOPIC, "t", "retention.ms")[0] == "7"
    await world.close()


class Item(str):
    """A list's item that counts how often any of them is compared with another."""

    compared = 0
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Item.compared += 1
        return str(self) == other

    def strip(self, _: str | None = None) -> Item:  # type: ignore[override]
        return self


class Items(str):
    """A text of many."""

    __slots__ = ()

    def split(self, *_: object) -> list[Item]:  # type: ignore[override]
        return [Item(text) for text in str(self).split(",")]


@pytest.mark.parametrize("operation", [ConfigOperation.APPEND, ConfigOperation.SUBTRACT])
def test_long_lists_are_not_compared_each_item_with_each(operation: ConfigOperation) -> None:
    """The replicas to throttle of a large topic are tens of thousands: the loop would stand still for half a minute."""
    name = "leader.replication.throttled.replicas"
    present = Items(",".join(f"{number}:1" for number in range(1_000)))
    given = Items(",".join(f"{number}:1" for number in range(500, 1_500)))
    changed = apply_changes({name: present}, [ConfigChange(name, operation, given)], TOPIC_KEYS.get)[name].split(",")
    assert len(changed) == (1_500 if operation is ConfigOperation.APPEND else 500)
    assert Item.compared < 2 * 2_000
