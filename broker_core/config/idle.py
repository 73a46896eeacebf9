"""Settings that Apache Kafka 3.9's broker has and this one does not: taken, described as Kafka does, and without effect.

A property file made for Kafka so starts this broker, which says of each such line that it does nothing, and why; and tools may set and
read what they set and read on Kafka. A value that asks for what is not there and would be missed is refused (`needs_nothing_missing`):
who relies on an authorizer, encryption or KRaft must not find out later that there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from broker_core.config.idle_table import TABLE
from broker_core.config.key import Key, KeyType, Scope
from broker_core.errors import ConfigError

NULL, EMPTY = "null", '""'

_WHY = (
    ("KRaft only", (
        "broker.heartbeat.", "broker.session.", "controller.listener.", "controller.quorum.", "eligible.leader.",
        "initial.broker.", "log.dir.failure.", "metadata.", "process.roles", "server.max.startup.", "unclean.leader.election.interval.",
        "zookeeper.metadata.", "alter.config.policy.kraft.", "max.request.partition.size.limit", "unstable.", "telemetry.", "node.id",
    )),
    ("groups of the newer protocol (KIP-848) and share groups are KRaft's only", (
        "group.consumer.", "group.coordinator.", "group.share.", "share.coordinator.",
    )),
    ("there is no tiered storage", ("remote.",)),
    ("listeners are PLAINTEXT only", (
        "sasl.", "ssl.", "security.", "connection.failed.authentication.", "connections.max.reauth.", "principal.builder.",
        "delegation.token.", "password.encoder.", "listener.name.",
    )),
    ("ZooKeeper is spoken to in plain text, by a client in Python", ("zookeeper.ssl.", "zookeeper.clientCnxnSocket", "zookeeper.set.acl")),
    ("there is no authorizer", ("authorizer.", "early.start.")),
    ("there is no JVM: nothing runs a class, and metrics are Prometheus's (highwater.metrics.port)", (
        "alter.config.policy.", "auto.include.jmx.", "client.quota.callback.", "create.topic.policy.", "kafka.metrics.", "metric.",
        "metrics.",
    )),
    ("one thread does all of it, and nothing waits for others", (
        "background.threads", "log.cleaner.threads", "num.io.threads", "num.network.threads", "num.recovery.threads.",
    )),
    ("compaction reads a batch at a time", ("log.cleaner.io.buffer.size",)),
    ("log.dirs is given, or this one counts in its stead", ("log.dir",)),
    ("commits always wait for all replicas in sync", ("offsets.commit.required.acks",)),
    ("offsets are stored as they are", ("offsets.topic.compression.codec",)),
    ("each try has as long as the first", ("socket.connection.setup.timeout.max.ms",)),
    ("the system sizes the buffers between brokers", ("replica.socket.receive.buffer.bytes",)),
    ("connections are limited in number, not in how fast they come", ("max.connection.creation.rate",)),
    ("a replica's move is throttled by the last ten seconds", ("alter.log.dirs.",)),
    ("what is due is looked for with other work", ("log.initial.task.", "producer.id.expiration.check.")),
)  # fmt: skip
"""Why settings whose names begin so have no effect; the first that fits counts."""

_ONLY = {
    "process.roles": ("", "there is ZooKeeper mode only"),
    "controller.listener.names": ("", "there is ZooKeeper mode only"),
    "zookeeper.metadata.migration.enable": ("false", "there is ZooKeeper mode only"),
    "group.coordinator.rebalance.protocols": ("classic", "groups of the newer protocol (KIP-848) are there in KRaft mode only"),
    "remote.log.storage.system.enable": ("false", "there is no tiered storage"),
    "authorizer.class.name": ("", "there is no authorizer, so nobody would be kept out"),
    "create.topic.policy.class.name": ("", "nothing here runs a class, so nothing would be checked"),
    "alter.config.policy.class.name": ("", "nothing here runs a class, so nothing would be checked"),
    "client.quota.callback.class": ("", "nothing here runs a class, so nothing would be limited"),
    "security.inter.broker.protocol": ("PLAINTEXT", "listeners are PLAINTEXT only"),
    "zookeeper.ssl.client.enable": ("false", "ZooKeeper is spoken to in plain text"),
    "zookeeper.set.acl": ("false", "znodes are open to whoever reaches ZooKeeper"),
}
"""The one value that these may have: with another, somebody would rely on what is not there."""

HIDDEN = frozenset(
    (
        *("group.consumer.migration.policy", "group.coordinator.new.enable", "group.share.enable", "log.initial.task.delay.ms"),
        *("metadata.log.segment.min.bytes", "producer.id.expiration.check.interval.ms", "server.max.startup.time.ms"),
        *("unclean.leader.election.interval.ms", "unstable.api.versions.enable", "unstable.feature.versions.enable"),
        *("remote.log.manager.task.retry.backoff.max.ms", "remote.log.manager.task.retry.backoff.ms"),
        *("remote.log.manager.task.retry.jitter", "zookeeper.metadata.migration.min.batch.size"),
    )
)
"""Kafka's internal settings: taken, and not described where nobody set them."""

_LISTENER = re.compile(r"listener\.name\.[^.]*\.(.+)")
_MECHANISMS = ("sasl.jaas.config", "sasl.login.callback.handler.class", "sasl.login.class", "sasl.server.callback.handler.class")
"""What listeners set for each mechanism of SASL: `listener.name.NAME.MECHANISM.sasl.jaas.config`."""


def why_without_effect(name: str) -> str:
    """The reason, as a part of a sentence."""
    return next(why for why, beginnings in _WHY if name.startswith(beginnings))


def only_value(name: str) -> str | None:
    """The one value that a setting may have; None where any of its type will do."""
    return _ONLY[name][0] if name in _ONLY else None


def needs_nothing_missing(properties: Mapping[str, str]) -> None:
    """`ConfigError` for a value that asks for what this broker does not have."""
    for name in sorted(_ONLY.keys() & properties.keys()):
        only, why = _ONLY[name]
        given = properties[name].strip()
        if given != only and (only != "false" or given.lower() != only):
            wanted = f"only {only} will do" if only else "it must be left out"
            raise ConfigError(f"Invalid value {properties[name][:100]!r} for configuration {name}: {wanted}, as {why}")


def base_name(name: str) -> str:
    """The setting that a listener's own one stands for: `ssl.key.password` of `listener.name.outside.ssl.key.password`."""
    of_listener = _LISTENER.fullmatch(name)
    if of_listener is None:
        return name
    return next((each for each in _MECHANISMS if of_listener[1].endswith(each)), of_listener[1])


def of_listener(key: Key, name: str) -> Key:
    """A listener's own setting: without effect, whatever it is."""
    return replace(key, name=name, default=None, doc=_doc(name))


def _doc(name: str) -> str:
    return f"Has no effect here: {why_without_effect(name)}."


def _keys() -> Iterator[Key]:
    for line in TABLE.strip().splitlines():
        name, kind, default, low, high, choices, scope = line.split()
        type_ = KeyType[kind]
        key = Key(
            name,
            type_,
            None,
            _doc(name),
            low=_limit(low),
            high=_limit(high),
            choices=() if choices == "-" else tuple(choices.split(",")),
            scope=Scope(scope),
            sensitive=type_ is KeyType.PASSWORD,
        )
        yield key if default == NULL else replace(key, default=key.parse("" if default == EMPTY else default))


def _limit(text: str) -> float | None:
    return None if text == "-" else float(text) if "." in text else int(text)


IDLE_KEYS: dict[str, Key] = {key.name: key for key in _keys()}
