"""The console's cast and stage: three people, a cluster in the snapshot, and a Kafka that does what a test tells it to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import convert

from broker_core.contract.stored import Assignment, Registration, Topic
from console.gateway.described_settings import settings_of
from console.gateway.errors import ClusterUnreachable, GatewayError, from_code
from console.live.merging.state import ClusterState
from console.rules.rhythm import Rhythm
from console.rules.settings.model import Owner, Setting
from console.rules.transactions.told import Coordinators, Description, Ends, Listing, Place, Producer
from tests.support.feed_rows import batch, claim, group_claim

PEOPLE = ("viewer", "operator", "admin")
BROKERS = {b: Registration("127.0.0.1", 9091 + b, None, 100 + b) for b in (1, 2, 3)}


class FakeKafka:
    """Topics as `{name: {partition: replicas}}`; `leaders` overrides the first replica; `away` refuses everything."""

    def __init__(self) -> None:
        self.topics_: dict[str, dict[int, list[int]]] = {}
        self.leaders: dict[tuple[str, int], int] = {}
        self.configs: dict[str, dict[str, str]] = {}
        self.broker_configs_: dict[int, dict[str, str]] = {}
        self.defaults: dict[str, str] = {}
        self.levels = {"root": "INFO", "broker_core.server": "INFO"}
        self.online = {1, 2, 3}
        self.committed: dict[str, dict[tuple[str, int], int]] = {}
        self.members: dict[str, list[dict[str, Any]]] = {}
        self.moving: dict[tuple[str, int], list[int]] = {}
        self.asked: list[tuple[Any, ...]] = []
        self.elections: dict[tuple[str, int], tuple[int, str]] = {}
        self.lacking: list[dict[int, list[int]]] = []
        """What the next questions for what brokers coordinate find."""
        self.state_partitions: dict[int, tuple[int | None, int]] = {0: (1, 0), 1: (2, 0), 2: (3, 0)}
        self.listings: dict[int, list[Listing] | GatewayError] = {}
        self.descriptions: dict[str, Description | GatewayError] = {}
        self.producers_: dict[Place, list[Producer] | GatewayError] = {}
        self.ends_: dict[Place, Ends] = {}
        self.refuse: tuple[int, str] | None = None
        self.away = False

    def _called(self, *what: Any) -> None:
        self.asked.append(what)
        if self.away:
            raise ClusterUnreachable("no broker answers")
        if self.refuse:
            raise from_code(*self.refuse)

    def brokers(self) -> set[int]:
        self._called("brokers")
        return set(self.online)

    def topics(self, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        self._called("topics")
        shown = {n: p for n, p in self.topics_.items() if names is None or n in names}
        return [
            {
                "name": name,
                "partitions": [
                    {"partition_index": p, "leader_id": self.leaders.get((name, p), r[0]), "replica_nodes": r, "isr_nodes": r}
                    for p, r in parts.items()
                ],
            }
            for name, parts in shown.items()
        ]

    def create_topic(
        self,
        name: str,
        partitions: int,
        replication_factor: int,
        configs: Mapping[str, str],
        *,
        validate_only: bool = False,
        assignment: Sequence[Sequence[int]] = (),
    ) -> None:
        self._called("create_topic", name, partitions, replication_factor, dict(configs), validate_only)

    def delete_topic(self, name: str) -> None:
        self._called("delete_topic", name)

    def add_partitions(self, name: str, total: int, *, validate_only: bool = False, assignment: Sequence[Sequence[int]] = ()) -> None:
        self._called("add_partitions", name, total)

    def topic_configs(self, name: str) -> list[dict[str, Any]]:
        self._called("topic_configs", name)
        own = self.configs.get(name, {})
        rest = {"read_only": False, "sensitive": False, "doc": ""}
        rows = {"min.insync.replicas": "2", **own}
        return [{"name": k, "value": v, "source": "topic" if k in own else "broker", **rest} for k, v in rows.items()]

    def broker_configs(self, broker_id: int) -> list[dict[str, Any]]:
        self._called("broker_configs", broker_id)
        own = self.broker_configs_.get(broker_id, {})
        kept = {"source": "broker", "read_only": False, "sensitive": False, "doc": ""}
        first = {"num.replica.fetchers": "1", **own}
        rows = [{**kept, "name": name, "value": value, "set_for": "this broker" if name in own else ""} for name, value in first.items()]
        return [*rows, {**kept, "name": "broker.id", "value": str(broker_id), "set_for": "in its file", "read_only": True}]

    def alter_topic_config(self, name: str, changes: Mapping[str, str | None], *, validate_only: bool = False) -> None:
        if validate_only:
            return self._called("validate_topic_config", name, dict(changes))
        self._called("alter_topic_config", name, dict(changes))
        _apply(self.configs.setdefault(name, {}), changes)

    def settings(self, owner: Owner) -> list[Setting]:
        """As the real one tells them, without synonyms."""
        if owner.kind == "brokers":
            entries = {row["name"]: _entry(row, self.defaults) for row in self.broker_configs(1) if not row["read_only"]}
            return settings_of(entries, owner, self.defaults)
        if owner.kind == "broker":
            return settings_of({row["name"]: _entry(row, self.defaults) for row in self.broker_configs(int(owner.name))}, owner, {})
        return settings_of({row["name"]: _entry(row, {}) for row in self.topic_configs(owner.name)}, owner, {})

    def alter_settings(self, owner: Owner, changes: Mapping[str, str | None], *, validate_only: bool = False) -> None:
        if owner.kind == "topic":
            return self.alter_topic_config(owner.name, changes, **{"validate_only": True} if validate_only else {})
        if validate_only:
            return self._called("validate_settings", owner, dict(changes))
        if owner.kind == "broker":
            return self.alter_broker_config(int(owner.name), changes)
        self._called("alter_broker_defaults", dict(changes))
        _apply(self.defaults, changes)

    def own_topic_configs(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        self._called("own_topic_configs", list(names))
        return {name: dict(self.configs.get(name, {})) for name in names}

    def own_broker_configs(self, broker_id: int) -> dict[str, str]:
        self._called("own_broker_configs", broker_id)
        return dict(self.broker_configs_.get(broker_id, {}))

    def alter_broker_config(self, broker_id: int, changes: Mapping[str, str | None]) -> None:
        self._called("alter_broker_config", broker_id, dict(changes))
        _apply(self.broker_configs_.setdefault(broker_id, {}), changes)

    def describe_group(self, group: str) -> dict[str, Any]:
        self._called("describe_group", group)
        return {"members": self.members.get(group, [])}

    def group_offsets(self, group: str) -> dict[tuple[str, int], int]:
        self._called("group_offsets", group)
        return dict(self.committed.get(group, {}))

    def set_group_offsets(self, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
        self._called("set_group_offsets", group, dict(offsets))
        self.committed.setdefault(group, {}).update(offsets)

    def delete_group_offsets(self, group: str, places: Sequence[tuple[str, int]]) -> None:
        self._called("delete_group_offsets", group, list(places))
        for place in places:
            self.committed[group].pop(place, None)

    def remove_members(self, group: str, members: Sequence[tuple[str, str | None]]) -> dict[str, GatewayError]:
        self._called("remove_members", group, list(members))
        gone = {member_id for member_id, _ in members}
        self.members[group] = [one for one in self.members.get(group, []) if one["member_id"] not in gone]
        return {}

    def delete_group(self, group: str) -> None:
        self._called("delete_group", group)

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        self._called("delete_records", topic, partition, before)
        return before

    def offsets(self, partitions: Sequence[tuple[str, int]], spec: str | int) -> dict[tuple[str, int], int]:
        self._called("offsets", spec)
        if isinstance(spec, int):
            return {tp: spec for tp in partitions if spec < 100}
        return dict.fromkeys(partitions, 0 if spec == "earliest" else 100)

    def transaction_coordinators(self) -> Coordinators:
        self._called("transaction_coordinators")
        return Coordinators(dict(self.state_partitions))

    def lacking_coordinators(self, of: Coordinators) -> dict[int, list[int]]:
        self._called("lacking_coordinators", of)
        return self.lacking.pop(0) if self.lacking else {}

    def transactions(
        self, brokers: Iterable[int], *, states: Sequence[str] = (), producer_ids: Sequence[int] = (), longer_ms: int | None = None
    ) -> dict[int, list[Listing] | GatewayError]:
        """`longer_ms` leaves all: how long each has lasted is the broker's to say."""
        brokers = list(brokers)
        self._called("transactions", brokers, list(states), list(producer_ids), longer_ms)
        told = {broker: self.listings.get(broker, []) for broker in brokers}
        return {
            broker: one
            if isinstance(one, GatewayError)
            else [row for row in one if (not states or row.state in states) and (not producer_ids or row.producer_id in producer_ids)]
            for broker, one in told.items()
        }

    def transaction_coordinator(self, transactional_id: str) -> int:
        self._called("transaction_coordinator", transactional_id)
        rows = (row for one in self.listings.values() if not isinstance(one, GatewayError) for row in one)
        return next((row.coordinator for row in rows if row.transactional_id == transactional_id), 1)

    def describe_transactions(self, by_broker: Mapping[int, Sequence[str]]) -> dict[str, Description | GatewayError]:
        self._called("describe_transactions", {broker: list(names) for broker, names in by_broker.items()})
        missing = from_code(105, "the transactional id was not described")
        return {name: self.descriptions.get(name, missing) for names in by_broker.values() for name in names}

    def producers(self, by_leader: Mapping[int, Sequence[Place]]) -> dict[Place, list[Producer] | GatewayError]:
        self._called("producers", {leader: list(places) for leader, places in by_leader.items()})
        return {place: self.producers_.get(place, []) for places in by_leader.values() for place in places}

    def ends(self, by_leader: Mapping[int, Sequence[Place]]) -> dict[Place, Ends]:
        self._called("ends")
        return {place: self.ends_.get(place, Ends(100, 100)) for places in by_leader.values() for place in places}

    def abort_transaction(self, leader: int, place: Place, producer: Producer) -> None:
        self._called("abort_transaction", leader, place, producer)
        self.producers_[place] = []
        self.ends_.pop(place, None)

    def take_over_transactions(self, coordinator: int, transactional_id: str, timeout_ms: int) -> tuple[int, int]:
        self._called("take_over_transactions", coordinator, transactional_id, timeout_ms)
        return 7, 3

    def offsets_at(self, partitions: Sequence[tuple[str, int]], spec: str | int) -> dict[tuple[str, int], tuple[int | None, int | None]]:
        """Record n is of the time n ms."""
        self._called("offsets_at", spec)
        if isinstance(spec, int):
            return dict.fromkeys(partitions, (spec, spec) if spec < 100 else (None, None))
        known: dict[str, tuple[int | None, int | None]] = {"earliest": (0, None), "latest": (100, None), "max-timestamp": (99, 99)}
        return dict.fromkeys(partitions, known.get(spec, (None, None)))

    def loggers(self, broker_id: int) -> dict[str, str]:
        self._called("loggers", broker_id)
        return dict(self.levels)

    def alter_loggers(self, broker_id: int, levels: Mapping[str, str | None]) -> None:
        self._called("alter_loggers", broker_id, dict(levels))
        self.levels |= {name: level or self.levels["root"] for name, level in levels.items()}

    def elect_preferred(self, partitions: Sequence[tuple[str, int]]) -> dict[tuple[str, int], tuple[int, str]]:
        self._called("elect_preferred", list(partitions))
        answers = {tp: self.elections.get(tp, (0, "")) for tp in partitions}
        for tp, (code, _) in answers.items():
            if code == 0:
                self.leaders.pop(tp, None)
        return answers

    def elect_unclean(self, partitions: Sequence[tuple[str, int]]) -> dict[tuple[str, int], tuple[int, str]]:
        self._called("elect_unclean", list(partitions))
        return {tp: self.elections.get(tp, (0, "")) for tp in partitions}

    def reassign(self, assignments: Mapping[tuple[str, int], Sequence[int] | None]) -> dict[tuple[str, int], str | None]:
        self._called("reassign", dict(assignments))
        for tp, to in assignments.items():
            if to is None:
                self.moving.pop(tp, None)
            elif list(to) != self.topics_[tp[0]][tp[1]]:
                self.moving[tp] = list(to)
        return dict.fromkeys(assignments)

    def reassignments(self) -> dict[tuple[str, int], dict[str, list[int]]]:
        self._called("reassignments")
        return {
            tp: {
                "replicas": [*to, *(b for b in self.topics_[tp[0]][tp[1]] if b not in to)],
                "adding_replicas": [b for b in to if b not in self.topics_[tp[0]][tp[1]]],
                "removing_replicas": [b for b in self.topics_[tp[0]][tp[1]] if b not in to],
            }
            for tp, to in self.moving.items()
        }

    def finish(self, topic: str, partition: int) -> None:
        """The controller has moved it."""
        self.topics_[topic][partition] = self.moving.pop((topic, partition))

    def changes(self, name: str) -> list[tuple[Any, ...]]:
        return [call for call in self.asked if call[0] == name]


def _entry(row: Mapping[str, Any], defaults: Mapping[str, str]) -> dict[str, Any]:
    """As the client library tells it."""
    sources = {"topic": "DYNAMIC_TOPIC_CONFIG", "this broker": "DYNAMIC_BROKER_CONFIG", "in its file": "STATIC_BROKER_CONFIG"}
    source = sources.get(row.get("set_for") or row["source"], "DEFAULT_CONFIG")
    value = row["value"]
    if source == "DEFAULT_CONFIG" and row["name"] in defaults:
        source, value = "DYNAMIC_DEFAULT_BROKER_CONFIG", defaults[row["name"]]
    return {
        "value": value,
        "config_source": source,
        "read_only": row["read_only"],
        "is_sensitive": row["sensitive"],
        "synonyms": [{"value": value, "source": source}, {"value": row["value"], "source": "DEFAULT_CONFIG"}]
        if source == "DYNAMIC_DEFAULT_BROKER_CONFIG"
        else [],
    }


def _apply(present: dict[str, str], changes: Mapping[str, str | None]) -> None:
    for key, value in changes.items():
        if value is None:
            present.pop(key, None)
        else:
            present[key] = value


def stored_topic(**more: Any) -> Topic:
    """A topic as the store has it; `partitions` are {number: {replicas, adding, removing}}."""
    return convert({"topic_id": "id", "internal": False, "min_insync_replicas": 2, "unclean": False, "partitions": {}, **more}, Topic)


def add_topic(state: ClusterState, name: str, partitions: int, at_ms: int, min_isr: int = 2) -> None:
    assigned = {p: Assignment(tuple((p + i) % 3 + 1 for i in range(3))) for p in range(partitions)}
    state.set_topic(name, Topic("id", False, min_isr, False, assigned), at_ms)
    for p, a in assigned.items():
        state.set_partition(name, p, a.replicas[0], 5, list(a.replicas))


def cluster_state(at_ms: int, topics: Mapping[str, int] | None = None, rhythms: Mapping[str, Rhythm] | None = None) -> ClusterState:
    """Three brokers, controller 2 in epoch 14, topics `orders` (3 partitions) and `clicks` (2), all safe; group `billing` 40 behind."""
    state = ClusterState("local", rhythms=rhythms)
    state.set_brokers(BROKERS, at_ms)
    state.set_controller(2, 14, at_ms)
    for name, count in (topics or {"orders": 3, "clicks": 2}).items():
        add_topic(state, name, count, at_ms)
    for broker in BROKERS:
        rows = [
            claim(name, p, broker, [(p + i) % 3 + 1 for i in range(3)], leader=p % 3 + 1, isr=[(p + i) % 3 + 1 for i in range(3)], end=100)
            for name, count in (topics or {"orders": 3, "clicks": 2}).items()
            for p in range(count)
        ]
        groups = [group_claim("billing", {"orders": {0: 50}})] if broker == 1 else []
        state.apply_batch(batch(broker, rows, at_ms, groups=groups), at_ms)
    return state
