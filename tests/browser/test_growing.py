"""A cluster grows by a broker and gives one up, two clicks each, while a producer writes: nothing is lost, nothing is left behind."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType
from playwright.sync_api import Browser, Page, expect

from console.live.sampling.samples import SAMPLES_TOPIC
from tests.support.broker_process import Highwater
from tests.support.clients import make, read_all
from tests.support.console_system import ConsoleSystem
from tests.support.pages import sign_in, until_known, visit
from tests.support.ports import free_ports
from tests.support.shared import running

TOPIC, PARTITIONS = "growing", 6
ADDED, EMPTIED = 9, 2
MOVE_MS = 240_000
THROTTLES = re.compile(r"throttled\.(rate|replicas)$")


@pytest.fixture(scope="module")
def own_system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleSystem]:
    yield from running(ConsoleSystem(tmp_path_factory.mktemp("growing") / "data"))


@pytest.fixture
def added(own_system: ConsoleSystem) -> Iterator[Highwater]:
    layout = own_system.layout
    settings = {"broker.id": str(ADDED), "zookeeper.connect": layout.zookeeper_connect}
    broker = Highwater(layout.folder("added"), free_ports(), settings)
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


@pytest.fixture
def page(browser: Browser, own_system: ConsoleSystem) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    made = context.new_page()
    sign_in(made, own_system)
    yield made
    context.close()


class Load:
    """Writes numbered records to all partitions until it is stopped; knows which were acknowledged, and what went wrong."""

    def __init__(self, system: ConsoleSystem) -> None:
        self.acknowledged: list[bytes] = []
        self.wrong: list[str] = []
        self._over = threading.Event()
        self._producer = Producer(
            {"bootstrap.servers": system.bootstrap_servers, "acks": "all", "enable.idempotence": True, "linger.ms": 5}
        )
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _write(self) -> None:
        number = 0
        while not self._over.wait(0.005):
            self._producer.produce(TOPIC, b"%d" % number, partition=number % PARTITIONS, on_delivery=self._told)
            self._producer.poll(0)
            number += 1
        left = self._producer.flush(60)
        if left:
            self.wrong.append(f"{left} records were neither acknowledged nor refused")

    def _told(self, error: object, message: Message) -> None:
        value = message.value()
        if error or value is None:
            self.wrong.append(str(error))
        else:
            self.acknowledged.append(value)


def begin(page: Page, button: str, throttle: str = "") -> None:
    """From the broker's page: the plan, and its start."""
    page.get_by_role("button", name=button).click()
    expect(page.locator("#plan")).to_contain_text("would change")
    if throttle:
        page.get_by_label("Throttle, per second on each broker").first.fill(throttle)
    page.get_by_role("button", name=re.compile(r"^Start \d+ moves?$")).click()
    expect(page.locator('[data-field="state"]').first).to_have_text("succeeded", timeout=MOVE_MS)


def replicas_of(admin: AdminClient, broker: int) -> list[str]:
    topics = admin.list_topics(timeout=30).topics
    return [f"{name}-{p}" for name, topic in topics.items() for p, one in topic.partitions.items() if broker in one.replicas]


def throttles(admin: AdminClient) -> list[str]:
    found = admin.list_topics(timeout=30)
    resources = [ConfigResource(ResourceType.BROKER, str(broker)) for broker in found.brokers]
    resources += [ConfigResource(ResourceType.TOPIC, name) for name in found.topics]
    asked = [admin.describe_configs([resource]) for resource in resources]
    entries = [entry for one in asked for answer in one.values() for entry in answer.result(30).values()]
    return [f"{entry.name}={entry.value}" for entry in entries if THROTTLES.search(entry.name) and not entry.is_default and entry.value]


def test_a_broker_is_added_and_another_emptied_under_load(page: Page, own_system: ConsoleSystem, added: Highwater) -> None:
    admin = AdminClient({"bootstrap.servers": own_system.bootstrap_servers})
    make(admin, NewTopic(TOPIC, PARTITIONS, replica_assignment=[[1, 2, 3], [2, 3, 1], [3, 1, 2]] * 2, config={"min.insync.replicas": "2"}))
    # The console makes its topic of samples 10 s after its start: between a plan and its end it would come to the broker just emptied.
    until_known(own_system, [f"/topics/{TOPIC}", f"/topics/{SAMPLES_TOPIC}", f"/brokers/{ADDED}"])
    with Load(own_system) as load:
        visit(page, own_system, f"/brokers/{ADDED}")
        begin(page, "Give it a share…", throttle="50 MiB")
        assert replicas_of(admin, ADDED), "it was given none"
        visit(page, own_system, f"/brokers/{EMPTIED}")
        begin(page, "Empty it…", throttle="50 MiB")
    assert not load.wrong, load.wrong[:3]
    assert replicas_of(admin, EMPTIED) == []
    assert throttles(admin) == []
    written = load.acknowledged
    found = [message.value() for message in read_all(own_system, TOPIC, len(written), PARTITIONS)]
    assert sorted(found) == sorted(written), "each acknowledged record is there, once"
