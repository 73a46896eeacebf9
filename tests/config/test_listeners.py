"""Several listeners of a broker: names, protocols, what is advertised, and how brokers reach each other."""

from __future__ import annotations

import pytest

from broker_core.config import BROKER_KEYS, IDLE_KEYS, BrokerConfig
from broker_core.config.environment import properties_from, variable_of
from broker_core.errors import ConfigError
from broker_core.model import BrokerInfo, Endpoint

TWO = {
    "listeners": "INTERNAL://0.0.0.0:9094,HOST://0.0.0.0:9092",
    "advertised.listeners": "INTERNAL://broker-1:9094,HOST://127.0.0.1:9092",
    "listener.security.protocol.map": "INTERNAL:PLAINTEXT,HOST:PLAINTEXT",
    "inter.broker.listener.name": "INTERNAL",
}


def test_each_listener_has_its_own_address_to_be_told() -> None:
    config = BrokerConfig.load(TWO)
    assert config.endpoints() == (Endpoint("INTERNAL", "0.0.0.0", 9094), Endpoint("HOST", "0.0.0.0", 9092))
    assert config.advertised_endpoints() == (Endpoint("INTERNAL", "broker-1", 9094), Endpoint("HOST", "127.0.0.1", 9092))


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"listener.security.protocol.map": "INTERNAL:PLAINTEXT"}, "'HOST' has no protocol"),
        ({"listener.security.protocol.map": "INTERNAL:PLAINTEXT,HOST:SSL"}, "not supported with SSL"),
        ({"listener.security.protocol.map": "INTERNAL"}, "NAME:PROTOCOL"),
        ({"inter.broker.listener.name": "OTHER"}, r"inter\.broker\.listener\.name"),
        ({"listeners": ""}, "at least one"),
        ({"listeners": "INTERNAL://a:1,INTERNAL://a:2"}, "of its own"),
        ({"listeners": "INTERNAL://a:1,HOST://b:1"}, "of its own"),
        ({"advertised.listeners": "INTERNAL://a:1,HOST://0.0.0.0:2"}, r"connect to 0\.0\.0\.0"),
        (
            {
                "advertised.listeners": "INTERNAL://a:1,X://b:2",
                "listener.security.protocol.map": "INTERNAL:PLAINTEXT,HOST:PLAINTEXT,X:PLAINTEXT",
            },
            "name of a listener",
        ),
    ],
)
def test_listeners_that_contradict_each_other_are_refused(changed: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        BrokerConfig.load({**TWO, **changed})


def test_without_what_is_advertised_a_listener_must_have_an_address() -> None:
    with pytest.raises(ConfigError, match=r"advertised\.listeners: nobody can connect to 0\.0\.0\.0"):
        BrokerConfig.load({"listeners": "PLAINTEXT://0.0.0.0:9092"})


def test_only_loopback_is_listened_on_unless_it_is_said() -> None:
    config = BrokerConfig.load({})
    assert [endpoint.host for endpoint in config.endpoints()] == [config.highwater_metrics_host] == ["127.0.0.1"]


def test_brokers_reach_each_other_by_the_name_else_by_plaintext_else_by_the_first() -> None:
    inside, outside, plain = Endpoint("IN", "a", 1), Endpoint("OUT", "b", 2), Endpoint("PLAINTEXT", "c", 3)
    assert BrokerInfo(1, (outside, plain, inside), None, 0).inter_broker("in") == inside
    assert BrokerInfo(1, (outside, plain, inside), None, 0).inter_broker(None) == plain
    assert BrokerInfo(1, (outside, inside), None, 0).inter_broker(None) == outside


def test_each_setting_has_one_variable() -> None:
    names = [*BROKER_KEYS, *IDLE_KEYS]
    assert len({variable_of(name) for name in names}) == len(names)
    for name in names:
        assert properties_from({variable_of(name): "x"}) == {name: "x"}


def test_a_variable_that_is_no_setting_is_refused() -> None:
    assert properties_from({"PATH": "/bin", "HIGHWATER_DATA": "/data"}) == {}
    with pytest.raises(ConfigError, match="KAFKA_BROKER_IDD"):
        properties_from({"KAFKA_BROKER_IDD": "1"})
