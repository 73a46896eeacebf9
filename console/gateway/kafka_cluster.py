"""A Kafka cluster through kafka-python's admin client. Blocking: call it from a request's own thread or a worker, never on an event loop.

After a failure to reach the cluster the client (`admin_clients.py`) is thrown away, so that the next call starts from the bootstrap
list again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import kafka.errors
from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, MemberToRemove
from kafka.protocol.consumer import OffsetSpec
from kafka.structs import OffsetAndMetadata

from console.gateway import admin_clients, quotas, transactions
from console.gateway.connection import Connection
from console.gateway.described_settings import fill_inherited, settings_of
from console.gateway.errors import UNREACHABLE, ClusterUnreachable, GatewayError, from_code, from_kafka
from console.rules.settings.model import Owner, Setting
from console.rules.transactions.told import Coordinators, Description, Ends, Listing, Place, Producer
from console.rules.words import whole

SOURCES = {"DYNAMIC_TOPIC_CONFIG": "topic", "DEFAULT_CONFIG": "default"}
KINDS = {"topic": ConfigResourceType.TOPIC, "broker": ConfigResourceType.BROKER}
OFFSETS_AT = {
    "earliest": OffsetSpec.EARLIEST,
    "latest": OffsetSpec.LATEST,
    "max-timestamp": OffsetSpec.MAX_TIMESTAMP,
    "earliest-local": OffsetSpec.EARLIEST_LOCAL,
    "latest-tiered": OffsetSpec.LATEST_TIERED,
}
PREFERRED, UNCLEAN = 0, 1
INVALID_REQUEST = 42
TEXT_BYTES_MAX = 32_767
Assignment = Mapping[tuple[str, int], Sequence[int] | None]


class KafkaCluster:
    """What the console asks of a cluster; each method is one question or one change and raises `GatewayError`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @contextmanager
    def _admin(self, *texts: str | None, change: bool = False) -> Iterator[Any]:
        """For a question, or a change, with these texts."""
        _fit(texts)
        admin_clients.asked(self.connection)
        try:
            yield admin_clients.client(self.connection, for_change=change)
            admin_clients.answered(self.connection)
        except UNREACHABLE as error:
            admin_clients.answered(self.connection, error)
            admin_clients.throw_away(self.connection)
            raise from_kafka(error, self.connection.bootstrap_servers) from error
        except (kafka.errors.KafkaError, ValueError, TypeError) as error:
            admin_clients.answered(self.connection, error if type(error) is kafka.errors.KafkaError else None)
            raise from_kafka(error, self.connection.bootstrap_servers) from error
        except (OSError, RuntimeError) as error:
            admin_clients.answered(self.connection, error)
            admin_clients.throw_away(self.connection)
            raise ClusterUnreachable(f"{self.connection.bootstrap_servers}: {error}") from error

    def brokers(self) -> set[int]:
        """Ids of the brokers that are registered now."""
        with self._admin() as admin:
            return {broker["broker_id"] for broker in admin.describe_cluster()["brokers"]}

    # --- topics

    def topics(self, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """`[{name, topic_id, is_internal, partitions: [{partition_index, leader_id, replica_nodes, isr_nodes}]}]`."""
        with self._admin(*(names or ())) as admin:
            found = admin.describe_topics(list(names) if names is not None else None)
        return [topic for topic in found if not topic.get("error_code")]

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
        """With an `assignment` (the replicas of each partition) the numbers are -1."""
        options = {"num_partitions": partitions, "replication_factor": replication_factor, "configs": dict(configs)}
        wanted = {name: {**options, "assignments": {number: list(row) for number, row in enumerate(assignment)}}}
        with self._admin(name, *configs, *configs.values(), change=True) as admin:
            answer = admin.create_topics(wanted, validate_only=validate_only, raise_errors=False)
        _raise_first(answer["topics"])

    def delete_topic(self, name: str) -> None:
        with self._admin(name, change=True) as admin:
            answer = admin.delete_topics([name], raise_errors=False)
        _raise_first(answer["topics"])

    def add_partitions(self, name: str, total: int, *, validate_only: bool = False, assignment: Sequence[Sequence[int]] = ()) -> None:
        """`assignment` has the replicas of each new partition; empty: the controller places them."""
        wanted = {"count": total, "assignments": [list(row) for row in assignment]} if assignment else total
        with self._admin(name, change=True) as admin:
            answer = admin.create_partitions({name: wanted}, validate_only=validate_only, raise_errors=False)
        _raise_first(answer.to_dict()["results"])

    # --- configs

    def topic_configs(self, name: str) -> list[dict[str, Any]]:
        return self._configs(ConfigResourceType.TOPIC, name)

    def broker_configs(self, broker_id: int) -> list[dict[str, Any]]:
        return self._configs(ConfigResourceType.BROKER, str(broker_id))

    def own_broker_configs(self, broker_id: int) -> dict[str, str]:
        """What is set for this one broker while it runs, by name."""
        found = self._entries(ConfigResourceType.BROKER, str(broker_id))
        return {key: entry["value"] for key, entry in found.items() if str(entry.get("config_source")) == "DYNAMIC_BROKER_CONFIG"}

    def own_topic_configs(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """The topics' own settings, of all that are named in one question."""
        with self._admin(*names) as admin:
            found = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name) for name in names]).get("topic", {})
        return {name: _own(entries, "DYNAMIC_TOPIC_CONFIG") for name, entries in found.items()}

    def broker_defaults(self) -> dict[str, str]:
        """What is set for all brokers while they run."""
        with self._admin() as admin:
            resources = [ConfigResource(ConfigResourceType.BROKER, _every_broker(admin))]
            found = admin.describe_configs(resources, config_filter="all").get("broker", {})
        return {key: value for entries in found.values() for key, value in _own(entries, "DYNAMIC_DEFAULT_BROKER_CONFIG").items()}

    def alter_broker_defaults(self, changes: Mapping[str, str | None]) -> None:
        """Sets the values for all brokers; None takes one away."""
        with self._admin() as admin:
            name = _every_broker(admin)
        self._alter(ConfigResourceType.BROKER, name, changes)

    def quotas(self) -> quotas.Quotas | None:
        """Limits of clients by entity (`console/wanted/quotas.py`); None where the brokers have none to tell of."""
        with self._admin() as admin:
            try:
                return quotas.describe(admin)
            except kafka.errors.IncompatibleBrokerVersion:
                return None

    def alter_quota(self, entity: str, changes: Mapping[str, float | None]) -> None:
        """Sets the limits of one entity; None takes one away."""
        with self._admin(entity, change=True) as admin:
            quotas.alter(admin, entity, changes)

    def settings(self, owner: Owner) -> list[Setting]:
        """All settings by name, with what is set here and what would be in force otherwise; of all brokers those that can be set so."""
        if owner.kind == "brokers":
            return self._defaults(owner)
        found = settings_of(self._entries(KINDS[owner.kind], owner.name, synonyms=True), owner, {})
        if owner.kind == "topic" and any(one.is_own and one.otherwise is None for one in found):
            return fill_inherited(found, self._of_first_broker())
        return found

    def _of_first_broker(self) -> dict[str, str | None]:
        with self._admin() as admin:
            first = _every_broker(admin).asked
        return {name: entry.get("value") for name, entry in self._entries(ConfigResourceType.BROKER, str(first)).items()}

    def _defaults(self, owner: Owner) -> list[Setting]:
        """What running brokers take, by what the one with the lowest number tells."""
        with self._admin() as admin:
            first = _every_broker(admin).asked
        entries = self._entries(ConfigResourceType.BROKER, str(first), synonyms=True)
        taken = {name: entry for name, entry in entries.items() if not entry.get("read_only")}
        return settings_of(taken, owner, self.broker_defaults())

    def alter_settings(self, owner: Owner, changes: Mapping[str, str | None], *, validate_only: bool = False) -> None:
        """Sets the values; None takes away what is set here."""
        if owner.kind == "brokers":
            with self._admin() as admin:
                name: str = _every_broker(admin)
        else:
            name = owner.name
        self._alter(KINDS.get(owner.kind, ConfigResourceType.BROKER), name, changes, validate_only=validate_only)

    def _entries(self, kind: ConfigResourceType, name: str, *, synonyms: bool = False) -> dict[str, Any]:
        with self._admin(name) as admin:
            found = admin.describe_configs([ConfigResource(kind, name)], include_synonyms=synonyms, config_filter="all")
        return dict(found.get(kind.name.lower(), {}).get(name, {}))

    def _configs(self, kind: ConfigResourceType, name: str) -> list[dict[str, Any]]:
        """`[{name, value, source, read_only, sensitive, doc}]` by name."""
        return _rows(self._entries(kind, name))

    def alter_topic_config(self, name: str, changes: Mapping[str, str | None], *, validate_only: bool = False) -> None:
        """Sets the values; None takes an override away."""
        self._alter(ConfigResourceType.TOPIC, name, changes, validate_only=validate_only)

    def alter_broker_config(self, broker_id: int, changes: Mapping[str, str | None]) -> None:
        """Sets the values for this one broker, which answers itself; None takes its own value away."""
        self._alter(ConfigResourceType.BROKER, str(broker_id), changes)

    def _alter(self, kind: ConfigResourceType, name: str, changes: Mapping[str, str | None], *, validate_only: bool = False) -> None:
        configs = {key: ("DELETE", None) if value is None else ("SET", value) for key, value in changes.items()}
        with self._admin(name, *changes, *changes.values(), change=True) as admin:
            answer = admin.alter_configs([ConfigResource(kind, name, configs)], raise_on_unknown=False, validate_only=validate_only)
        outcome = answer.get(kind.name.lower(), {}).get(name, "OK")
        if outcome != "OK":
            raise _from_text(outcome)

    def loggers(self, broker_id: int) -> dict[str, str]:
        """The level in force by logger, as the broker itself says; none of one that does not tell."""
        return {name: str(entry["value"]) for name, entry in self._entries(ConfigResourceType.BROKER_LOGGER, str(broker_id)).items()}

    def alter_loggers(self, broker_id: int, levels: Mapping[str, str | None]) -> None:
        """None takes a logger's own level away."""
        self._alter(ConfigResourceType.BROKER_LOGGER, str(broker_id), levels)

    # --- groups

    def describe_group(self, group: str) -> dict[str, Any]:
        with self._admin(group) as admin:
            found: dict[str, Any] = admin.describe_groups([group])[group]
        return found

    def group_offsets(self, group: str) -> dict[tuple[str, int], int]:
        with self._admin(group) as admin:
            found = admin.list_group_offsets({group: None})[group]
        return {(tp.topic, tp.partition): committed.offset for tp, committed in found.items() if committed.offset >= 0}

    def set_group_offsets(self, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
        """Commits for an empty group; a group with members refuses (UNKNOWN_MEMBER_ID)."""
        wanted = {TopicPartition(*tp): OffsetAndMetadata(offset, "", -1) for tp, offset in offsets.items()}
        with self._admin(group, change=True) as admin:
            answers = admin.alter_group_offsets(group, wanted)
        for tp, error in answers.items():
            if error is not kafka.errors.NoError:
                raise from_code(
                    error.errno, f"{tp.topic}-{tp.partition}: the group's offset was not changed; only a group without members takes one."
                )

    def delete_group_offsets(self, group: str, places: Sequence[tuple[str, int]]) -> None:
        """Forgets them; of a topic that a member is subscribed to the group refuses (GROUP_SUBSCRIBED_TO_TOPIC)."""
        with self._admin(group, change=True) as admin:
            answers = admin.delete_group_offsets(group, [TopicPartition(*place) for place in places])
        for tp, error in answers.items():
            if error is not kafka.errors.NoError:
                raise from_code(error.errno, f"{tp.topic}-{tp.partition}: the group's offset was not deleted.")

    def remove_members(self, group: str, members: Sequence[tuple[str, str | None]]) -> dict[str, GatewayError]:
        """Each `(member_id, instance_id)` leaves; the refusals by member id. A static member is named by both, so that nobody who took its
        name meanwhile goes in its stead."""
        wanted = [MemberToRemove(member_id, instance_id, "removed by an operator") for member_id, instance_id in members]
        with self._admin(group, change=True) as admin:
            answers = admin.remove_group_members(group, wanted)
        refused = {name: error for name, error in answers.items() if error is not kafka.errors.NoError}
        return {name: from_code(error.errno, f"member {name} was not removed") for name, error in refused.items()}

    def delete_group(self, group: str) -> None:
        with self._admin(group, change=True) as admin:
            outcome = admin.delete_groups([group]).get(group, "OK")
        if outcome != "OK":
            error = getattr(kafka.errors, outcome)
            raise from_code(error.errno, f"group {group} was not deleted")

    def offsets(self, partitions: Sequence[tuple[str, int]], spec: Literal["earliest", "latest"] | int) -> dict[tuple[str, int], int]:
        """`earliest` or `latest` offsets; of a time in ms since 1970, that of the first record not older, where there is one."""
        wanted = {"earliest": OffsetSpec.EARLIEST, "latest": OffsetSpec.LATEST}[spec] if isinstance(spec, str) else spec
        with self._admin() as admin:
            found = admin.list_partition_offsets({TopicPartition(*tp): wanted for tp in partitions})
        return {(tp.topic, tp.partition): answer.offset for tp, answer in found.items() if answer.offset >= 0}

    def offsets_at(self, partitions: Sequence[tuple[str, int]], spec: str | int) -> dict[tuple[str, int], tuple[int | None, int | None]]:
        """Offset and time in ms of a record, by a name of `OFFSETS_AT` or a time in ms since 1970; None where there is none."""
        wanted = OFFSETS_AT[spec] if isinstance(spec, str) else spec
        with self._admin() as admin:
            found = admin.list_partition_offsets({TopicPartition(*tp): wanted for tp in partitions})
        return {(tp.topic, tp.partition): (_told(answer.offset), _told(answer.timestamp)) for tp, answer in found.items()}

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        """Deletes what lies below the offset; returns where the log begins now."""
        place = TopicPartition(topic, partition)
        with self._admin(topic, change=True) as admin:
            return int(admin.delete_records({place: before})[place]["low_watermark"])

    # --- transactions: of several brokers those that refuse or do not answer have their error in the answer's place

    def transaction_coordinators(self) -> Coordinators:
        with self._admin() as admin:
            return transactions.coordinators(admin)

    def lacking_coordinators(self, of: Coordinators) -> dict[int, list[int]]:
        """By broker the partitions that it leads and does not say it coordinates."""
        with self._admin() as admin:
            return transactions.lacking(admin, of)

    def transactions(
        self, brokers: Iterable[int], *, states: Sequence[str] = (), producer_ids: Sequence[int] = (), longer_ms: int | None = None
    ) -> dict[int, list[Listing] | GatewayError]:
        """What each broker coordinates; `longer_ms` leaves transactions of that length and longer (Kafka 3.8 and later)."""
        with self._admin() as admin:
            return transactions.listed(admin, brokers, states, producer_ids, longer_ms)

    def transaction_coordinator(self, transactional_id: str) -> int:
        with self._admin(transactional_id) as admin:
            return transactions.coordinator_of(admin, transactional_id)

    def describe_transactions(self, by_broker: Mapping[int, Sequence[str]]) -> dict[str, Description | GatewayError]:
        with self._admin(*(name for names in by_broker.values() for name in names)) as admin:
            return transactions.described(admin, by_broker)

    def producers(self, by_leader: Mapping[int, Sequence[Place]]) -> dict[Place, list[Producer] | GatewayError]:
        with self._admin() as admin:
            return transactions.producers(admin, by_leader)

    def ends(self, by_leader: Mapping[int, Sequence[Place]]) -> dict[Place, Ends]:
        with self._admin() as admin:
            return transactions.ends(admin, by_leader)

    def abort_transaction(self, leader: int, place: Place, producer: Producer) -> None:
        with self._admin(change=True) as admin:
            transactions.abort(admin, leader, place, producer)

    def take_over_transactions(self, coordinator: int, transactional_id: str, timeout_ms: int) -> tuple[int, int]:
        with self._admin(transactional_id, change=True) as admin:
            return transactions.take_over(admin, coordinator, transactional_id, timeout_ms)

    # --- leaders and replicas

    def elect_preferred(self, partitions: Sequence[tuple[str, int]]) -> dict[tuple[str, int], tuple[int, str]]:
        """Kafka's code and message per partition (84 = no election needed)."""
        return self._elect(PREFERRED, partitions)

    def elect_unclean(self, partitions: Sequence[tuple[str, int]]) -> dict[tuple[str, int], tuple[int, str]]:
        """The same, for partitions without a leader: any live replica leads where none that was in sync lives."""
        return self._elect(UNCLEAN, partitions)

    def _elect(self, kind: int, partitions: Sequence[tuple[str, int]]) -> dict[tuple[str, int], tuple[int, str]]:
        by_topic: dict[str, list[int]] = {}
        for topic, partition in partitions:
            by_topic.setdefault(topic, []).append(partition)
        with self._admin(change=True) as admin:
            answer = admin.elect_leaders(kind, by_topic, timeout_ms=8_000, raise_errors=False)
        if getattr(answer, "error_code", 0):
            raise from_code(answer.error_code, "the election was refused")
        return {
            (result.topic, p.partition_id): (p.error_code, p.error_message or "")
            for result in answer.replica_election_results
            for p in result.partition_result
        }

    def reassign(self, assignments: Assignment) -> dict[tuple[str, int], str | None]:
        """Starts (or with None cancels) moves; the error's name per partition, None where it was taken."""
        with self._admin(change=True) as admin:
            answers = admin.alter_partition_reassignments({TopicPartition(*tp): to and list(to) for tp, to in assignments.items()})
        return {(tp.topic, tp.partition): error and f"{error.__name__} ({error.errno})" for tp, error in answers.items()}

    def reassignments(self) -> dict[tuple[str, int], dict[str, list[int]]]:
        """`{tp: {replicas, adding_replicas, removing_replicas}}` of all moves under way."""
        with self._admin() as admin:
            found = admin.list_partition_reassignments()
        return {(tp.topic, tp.partition): move for tp, move in found.items()}


class _EveryBroker(str):
    """The empty name, that of all brokers together; the client takes names of brokers for the number of the one to ask: any will do."""

    asked = 0

    def __int__(self) -> int:
        return self.asked


def _every_broker(admin: Any) -> _EveryBroker:
    name = _EveryBroker("")
    name.asked = min(broker["broker_id"] for broker in admin.describe_cluster()["brokers"])
    return name


def _told(number: int | None) -> int | None:
    """Kafka has -1 for what there is not."""
    return None if number is None or number < 0 else number


def _own(entries: Mapping[str, Any], source: str) -> dict[str, str]:
    return {key: entry["value"] for key, entry in entries.items() if str(entry.get("config_source")) == source}


def _fit(texts: Sequence[str | None]) -> None:
    """A broker ends the connection of whoever sends a longer text, with all that is asked on it: it would seem to be away."""
    longest = max((len(text.encode("utf-8", "surrogatepass")) for text in texts if text), default=0)
    if longest > TEXT_BYTES_MAX:
        raise from_code(INVALID_REQUEST, f"a text of {whole(longest)} bytes is too long: {whole(TEXT_BYTES_MAX)} are the most")


def _rows(entries: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [_config_row(key, entry) for key, entry in sorted(entries.items())]


def _config_row(key: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": key,
        "value": entry.get("value"),
        "source": SOURCES.get(str(entry.get("config_source")), "broker"),
        "read_only": bool(entry.get("read_only")),
        "sensitive": bool(entry.get("is_sensitive")),
        "doc": entry.get("documentation") or "",
    }


def _raise_first(results: Sequence[Mapping[str, Any]]) -> None:
    for result in results:
        if result.get("error_code"):
            raise from_code(result["error_code"], result.get("error_message"))


def _from_text(text: str) -> GatewayError:
    """The client gives the answer to a config change as text only: `[Error 40] InvalidConfigurationError: why`."""
    match = re.match(r"\[Error (-?\d+)\] \w+(?:: (.*))?$", text, re.DOTALL)
    return from_code(int(match[1]), match[2]) if match else GatewayError("INVALID_CONFIG", text)
