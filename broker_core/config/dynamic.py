"""Which settings of brokers may be changed while they run, and for whom (KIP-226), by Kafka's rules.

A setting is READ_ONLY, may be set for one broker (PER_BROKER), or for one and for all (CLUSTER_WIDE).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from broker_core.config.broker import broker_key
from broker_core.config.idle import base_name
from broker_core.config.key import Key, KeyType, Scope
from broker_core.errors import ConfigError

OF_LISTENERS_ONLY = frozenset(
    (
        *("ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.password", "ssl.key.password", "ssl.truststore.type"),
        *("ssl.truststore.location", "ssl.truststore.password", "ssl.keystore.certificate.chain", "ssl.keystore.key"),
        "ssl.truststore.certificates",
    )
)
"""Changed for a listener (`listener.name.…`), never for all of a broker's at once."""

FOR_ALL_LISTENERS = frozenset(("max.connections", "max.connection.creation.rate", "num.network.threads"))
"""What may be set for a listener's name on all brokers."""

THREADS = (
    *("background.threads", "log.cleaner.threads", "num.io.threads", "num.network.threads", "num.recovery.threads.per.data.dir"),
    "num.replica.fetchers",
)
"""Changed by half or double at most, at a time."""


def check_dynamic(overrides: Mapping[str, str], *, per_broker: bool = True) -> None:
    """`ConfigError` unless all are broker settings that may change in a running broker: for itself, or else for all brokers."""
    keys = {name: _known(name) for name in overrides}
    _refuse("Cannot update these configs dynamically", (n for n, k in keys.items() if not k.dynamic))
    message = "These security configs can be dynamically updated only per-listener using the listener prefix"
    _refuse(message, (name for name in keys if name in OF_LISTENERS_ONLY))
    for name, text in overrides.items():
        keys[name].parse(text)
    if not per_broker:
        message = "Cannot update these configs at default cluster level, broker id must be specified"
        _refuse(message, (name for name, key in keys.items() if _is_per_broker(name, key)))


def keeps_no_password(names: Iterable[str]) -> None:
    """`ConfigError` for a setting that would lie open in ZooKeeper, as Kafka refuses it without `password.encoder.secret`."""
    keys = {name: _known(name) for name in names}
    _refuse("Passwords are not kept in ZooKeeper, as they would lie open there", (n for n, k in keys.items() if k.type is KeyType.PASSWORD))


def usable(overrides: Mapping[str, str], *, per_broker: bool) -> tuple[dict[str, str], dict[str, str]]:
    """What of the settings that ZooKeeper has for a broker, or for all, takes effect, and why the rest does not."""
    kept, left = {}, {}
    for name, text in overrides.items():
        try:
            check_dynamic({name: text}, per_broker=per_broker)
            keeps_no_password((name,))
        except ConfigError as error:
            left[name] = str(error)
        else:
            kept[name] = text
    return kept, left


def check_threads(before: Mapping[str, str | None], after: Mapping[str, str]) -> None:
    """`ConfigError` where a number of threads would grow or fall too far from what it is."""
    for name in THREADS:
        text = before.get(name)
        if name not in after or text is None:
            continue
        old, new = int(text), int(after[name])
        if new != old and not (max(1, old // 2) <= new <= old * 2):
            limits = f"value should be between {max(1, old // 2)} and {old * 2}: half and double the current value {old}"
            raise ConfigError(f"Dynamic thread count update validation failed for {name}={new}, {limits}")


def _known(name: str) -> Key:
    key = broker_key(name)
    if key is None:
        raise ConfigError(f"Unknown configuration {name!r}")
    return key


def _is_per_broker(name: str, key: Key) -> bool:
    base = base_name(name)
    return key.scope is Scope.PER_BROKER or (base != name and base not in FOR_ALL_LISTENERS)


def _refuse(why: str, names: Iterable[str]) -> None:
    refused = sorted(names)
    if refused:
        raise ConfigError(f"{why}: Set({', '.join(refused)})"[:1000])
