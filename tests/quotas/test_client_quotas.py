"""All quotas of a broker: what ZooKeeper says takes effect, memory stays bounded, and who has to wait."""

from __future__ import annotations

import math

import pytest

from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.errors import ErrorCode, KafkaError
from broker_core.quotas.client_quotas import ClientQuotas
from broker_core.quotas.kept import IDLE_MS, KEPT_MAX, Kept, short
from broker_core.quotas.limits import Payer
from broker_core.quotas.mutation_quota import UNLIMITED
from broker_core.quotas.rate import WindowedRate
from broker_core.quotas.toll import FREE, Toll
from broker_core.seams import ConnectionThrottled

pytestmark = pytest.mark.spec("N4")

USER = "User:ANONYMOUS"


class World:
    """Quotas, and a clock that a test moves; `spent_ms` is what each request has taken of the loop."""

    def __init__(self, **settings: str) -> None:
        self.config = ConfigHolder(BrokerConfig.load(settings))
        self.quotas = ClientQuotas(self.config, "INTERNAL")
        self.now_ms = 1_000_000.0
        self.spent_ms = 0.0

    def toll(self, client_id: str | None = "app") -> Toll:
        return self.quotas.toll(USER, client_id, lambda: self.now_ms, lambda: self.spent_ms)


@pytest.fixture
def world() -> World:
    return World()


def test_without_quotas_all_is_free(world: World) -> None:
    assert not world.quotas.is_set and world.toll() is FREE
    assert (FREE.produced(10**9, is_answered=True), FREE.fetched(10**9), FREE.settled(), FREE.throttled_ms) == (0, False, 0, 0)
    assert FREE.most_fetched_bytes() == math.inf and FREE.mutations(strict=True) is FREE.uncounted_mutations() is UNLIMITED


def test_bytes_produced_are_told_and_counted(world: World) -> None:
    world.quotas.changed("users/ANONYMOUS", {"producer_byte_rate": "1000"})
    assert world.toll().produced(10_000, is_answered=True) == 0
    toll = world.toll("other")
    assert (toll.produced(5_000, is_answered=False), toll.throttled_ms) == (5_000, 5_000), "one user, whatever the client id"
    assert (world.quotas.throttled["producer_byte_rate"], world.quotas.throttled_ms) == (1, 5_000)
    world.now_ms += 16_000
    assert world.toll().produced(10_000, is_answered=True) == 0


def test_a_limit_that_is_raised_or_taken_away_holds_at_once(world: World) -> None:
    world.quotas.changed("clients/app", {"producer_byte_rate": "1000"})
    assert world.toll().produced(20_000, is_answered=True) == 10_000
    world.quotas.changed("clients/app", {"producer_byte_rate": "10000"})
    assert world.toll().produced(1, is_answered=True) == 0
    world.quotas.changed("clients/app", {})
    assert world.toll() is FREE
    world.quotas.changed("clients/app", {"producer_byte_rate": "1000"})
    assert world.toll().produced(10_000, is_answered=True) == 0, "what was before is forgotten"


def test_a_fetch_that_has_to_wait_pays_for_nothing(world: World) -> None:
    world.quotas.changed("clients/<default>", {"consumer_byte_rate": "1000"})
    assert world.toll().most_fetched_bytes() == 10_000
    assert not world.toll().fetched(10_000)
    toll = world.toll()
    assert toll.fetched(10_000)
    assert toll.throttled_ms == toll.settled() == 10_000, "it is settled once"
    world.now_ms += 10_100
    assert not world.toll().fetched(1), "the second 10 000 bytes were never sent"
    assert not world.toll("another").fetched(10_000), "each client id has the default's limit for itself"
    assert not world.toll(None).fetched(10**9), "who names none has none"


def test_time_on_the_loop_is_a_share_of_a_second(world: World) -> None:
    world.quotas.changed("users/<default>/clients/app", {"request_percentage": "1"})
    world.spent_ms = 100.0
    assert world.toll().settled() == 0, "10 % of a second in ten seconds are 1 %"
    assert world.toll().settled() == 1000, "10 s would be due; one window is the most"
    exempt = world.toll()
    exempt.exempt()
    assert exempt.settled() == 0
    assert world.toll().produced(10, is_answered=False) == 0, "acks=0 is exempt"
    assert world.toll().produced(10, is_answered=True) == 1000
    assert world.toll().fetched(0), "nothing is sent to whoever has to wait"


def test_old_clients_wait_and_new_ones_are_refused(world: World) -> None:
    world.quotas.changed("users/ANONYMOUS", {"controller_mutation_rate": "1.0"})
    patient = world.toll()
    changes = patient.mutations(strict=False)
    changes.record(11)
    assert patient.settled() == 0
    late = world.toll()
    late.mutations(strict=False).record(3)
    world.now_ms += 500
    assert late.settled() == 2_500, "it waited for its topics meanwhile"
    refused = world.toll()
    with pytest.raises(KafkaError) as caught:
        refused.mutations(strict=True).record(1)
    assert caught.value.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert refused.settled() == 2_500
    world.now_ms += 2_500
    strict = world.toll()
    strict.mutations(strict=True).record(1_000)
    assert strict.settled() == 0, "who finds it out of debt may take as much as it likes"
    world.toll().uncounted_mutations().record(1)
    assert world.quotas.throttled["controller_mutation_rate"] == 2


def test_what_is_no_quota_is_left_out(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever writes to ZooKeeper past Kafka's checks breaks nothing."""
    for text in ("much", "nan", "1" * 500):
        world.quotas.changed("users/ANONYMOUS", {"producer_byte_rate": text, "SCRAM-SHA-256": "secret"})
    world.quotas.changed("users/a/b/c", {"producer_byte_rate": "1"})
    for text in ("inf", "-inf", "1e99", "-5"):
        world.quotas.changed("ips/<default>", {"connection_creation_rate": text})
    assert not world.quotas.is_set
    assert "secret" not in caplog.text and "no number" in caplog.text and "nobody's" in caplog.text


@pytest.mark.parametrize("limit", ["0", "-1"])
def test_a_limit_of_nothing_makes_nobody_wait_for_bytes(world: World, limit: str) -> None:
    """Kafka's arithmetic: the wait without an end becomes -1."""
    world.quotas.changed("clients/app", {"producer_byte_rate": limit})
    assert world.toll().produced(10**6, is_answered=True) == 0


def test_windows_are_those_of_the_settings() -> None:
    world = World(**{"quota.window.num": "3", "quota.window.size.seconds": "5", "controller.quota.window.num": "2"})
    world.quotas.changed("clients/app", {"producer_byte_rate": "10", "request_percentage": "1", "controller_mutation_rate": "5"})
    assert world.toll().produced(100, is_answered=True) == 0
    assert world.toll().produced(10, is_answered=True) == 1000
    changes = world.toll().mutations(strict=False)
    changes.record(11)
    assert changes.rest_ms(world.now_ms) == 200  # type: ignore[attr-defined]


# Connections.


def test_an_address_that_opens_too_many_connections_waits_and_is_closed(world: World) -> None:
    world.quotas.changed("ips/192.0.2.1", {"connection_creation_rate": "1"})
    assert not world.quotas.is_set, "requests are as cheap as ever"
    for _ in range(10):
        assert world.quotas.opened("PLAINTEXT", "192.0.2.1", world.now_ms) == world.now_ms
    for _ in range(3):
        with pytest.raises(ConnectionThrottled) as caught:
            world.quotas.opened("PLAINTEXT", "::ffff:192.0.2.1", world.now_ms)
        assert caught.value.rest_ms == 1000, "those that were not taken do not count"
    assert world.quotas.throttled["connection_creation_rate"] == 3
    assert world.quotas.opened("PLAINTEXT", "192.0.2.2", world.now_ms) == world.now_ms
    world.now_ms += 11_000
    assert world.quotas.opened("PLAINTEXT", "192.0.2.1", world.now_ms) == world.now_ms


def test_the_limit_of_all_addresses_and_none(world: World) -> None:
    world.quotas.changed("ips/<default>", {"connection_creation_rate": "0"})
    world.quotas.changed("ips/192.0.2.1", {"connection_creation_rate": "2147483647"})
    with pytest.raises(ConnectionThrottled):
        world.quotas.opened("PLAINTEXT", "192.0.2.2", world.now_ms)
    assert world.quotas.opened("PLAINTEXT", "192.0.2.1", world.now_ms) == world.now_ms
    world.quotas.changed("ips/<default>", {})
    assert world.quotas.opened("PLAINTEXT", "192.0.2.2", world.now_ms) == world.now_ms


def test_the_brokers_own_rate_makes_connections_wait_for_their_turn() -> None:
    """A burst is served at the rate: each connection counts when its turn has come."""
    world = World(**{"max.connection.creation.rate": "10"})
    turns = [world.quotas.opened("PLAINTEXT", "h", world.now_ms) - world.now_ms for _ in range(300)]
    assert turns[99] == 0 and turns == sorted(turns)
    assert turns[-1] == pytest.approx(20_000, rel=0.25)
    assert world.quotas.opened("INTERNAL", "h", world.now_ms) == world.now_ms, "the brokers' listener, where clients have another"
    world.config.set_broker({"max.connection.creation.rate": "2147483647"})
    assert world.quotas.opened("PLAINTEXT", "h", world.now_ms) == world.now_ms


# Memory.


def test_names_without_end_cost_memory_that_is_bounded(world: World) -> None:
    world.quotas.changed("clients/<default>", {"producer_byte_rate": "1000"})
    for number in range(KEPT_MAX + 100):
        world.toll(f"{number}" + "x" * 30_000).produced(1, is_answered=True)
    kept = world.quotas.produce._rates
    assert len(kept) == KEPT_MAX
    assert max(len(payer.client_id) for payer in kept._entries) <= 128
    assert short(Payer("", "a" * 128)) == Payer("", "a" * 128) != short(Payer("", "a" * 129))


def test_what_nobody_uses_for_an_hour_goes() -> None:
    kept: Kept[str, WindowedRate] = Kept(WindowedRate)
    first = kept.of("a", 0)
    kept.of("b", IDLE_MS)
    assert kept.of("a", IDLE_MS) is first
    kept.of("c", 2 * IDLE_MS + 1)
    assert list(kept._entries) == ["c"]
    kept = Kept(WindowedRate, most=2)
    for name in "abacd":
        kept.of(name, 0)
    assert list(kept._entries) == ["c", "d"]
