"""Reads the YAML files of a wanted state::

    topics:
      orders:
        partitions: 12              # left out: as it is
        replication_factor: 3
        configs: {retention.ms: 604800000}
      billing:
        assignment: [[1, 2, 3], [2, 3, 1]]     # replicas of each partition, instead of the two numbers
    brokers:
      configs: {log.retention.ms: 604800000}   # the defaults of all brokers
    quotas:
      - {user: alice, limits: {producer_byte_rate: 1048576}}
      - {user: <default>, client-id: batch, limits: {request_percentage: 50}}
      - {ip: 192.0.2.7, limits: {connection_creation_rate: 10}}

A topic, and who has a quota, is in one file. All that is wrong is told at once, with file and line. Values are taken as they are written:
`yes` is no `true`. Aliases and tags are refused (a few lines of them can stand for gigabytes), and so are keys that come twice, which
YAML's usual readers take the last of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml

from console.wanted import quotas
from console.wanted.model import Assignment, Place, Wanted, WantedQuota, WantedTopic

TOPICS_LIMIT = 5_000
FILES_LIMIT = 1_000
TEXT_BYTES_MAX = 5_000_000
DEPTH_LIMIT = 10
NODES_LIMIT = 500_000
FAULTS_TOLD = 50
PARTITIONS_MAX, COPIES_MAX = 10_000, 100
NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
WHOLE = re.compile(r"[0-9]{1,9}")
VALUE_CHARS_MAX = 10_000
QUOTAS_LIMIT = 2_000
ENTITY_CHARS_MAX = 290
"""As it is written: addresses and rows have room for so much."""
FIGURE = re.compile(r"[0-9]{1,15}(\.[0-9]{1,6})?")
Reader = Callable[["Node"], Any]


class Fault(Exception):
    """What is wrong, at its place."""

    def __init__(self, place: Place, words: str) -> None:
        super().__init__(f"{place}: {words}")
        self.place, self.words = place, words


class Unreadable(Exception):
    """Some of the files cannot be meant; `faults` are the first of what is wrong."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = faults


class Node:
    """A value with its place: a text, a list of nodes, or pairs of a key's node and a value's."""

    __slots__ = ("place", "plain", "value")

    def __init__(self, place: Place, value: Any, *, plain: bool = False) -> None:
        self.place, self.value, self.plain = place, value, plain

    @property
    def kind(self) -> str:
        return "a text or number" if isinstance(self.value, str) else "a list" if isinstance(self.value, list) else "a mapping"


def read(files: Mapping[str, str]) -> Wanted:
    """The state that all files together want; `Unreadable` where one of them cannot be meant."""
    _refuse_size(files)
    return _Reading().all_of(files)


def _refuse_size(files: Mapping[str, str]) -> None:
    nowhere = Place("all files", 1)
    if len(files) > FILES_LIMIT:
        raise Unreadable([Fault(nowhere, f"{len(files)} files are too many: {FILES_LIMIT} are the most.")])
    if sum(len(text.encode("utf-8", "surrogatepass")) for text in files.values()) > TEXT_BYTES_MAX:
        raise Unreadable([Fault(nowhere, "they are too large: 5 MB together are the most.")])


class _Reading:
    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.topics: dict[str, WantedTopic] = {}
        self.broker_configs: dict[str, str] | None = None
        self.brokers_at: Place | None = None
        self.quotas: dict[str, WantedQuota] | None = None

    def all_of(self, files: Mapping[str, str]) -> Wanted:
        for name, text in sorted(files.items()):
            self._try(lambda name=name, text=text: self._file(name, text))  # type: ignore[misc]
        if not self.faults and len(self.topics) > TOPICS_LIMIT:
            words = f"{len(self.topics)} topics are too many for one wanted state: {TOPICS_LIMIT} are the most."
            self.faults.append(Fault(Place("all files", 1), words))
        if self.faults:
            raise Unreadable(self.faults[:FAULTS_TOLD])
        return Wanted(self.topics, self.broker_configs, self.quotas)

    def _try(self, read_it: Callable[[], None]) -> None:
        if len(self.faults) >= FAULTS_TOLD:
            return
        try:
            read_it()
        except Fault as fault:
            self.faults.append(fault)

    def _file(self, name: str, text: str) -> None:
        root = compose(name, text)
        if root is None:
            return
        for key, value in _pairs(root, ("topics", "brokers", "quotas")):
            if key.value == "topics":
                for topic, wanted in [] if _is_empty(value) else _pairs(value):
                    self._try(lambda topic=topic, wanted=wanted: self._topic(topic, wanted))  # type: ignore[misc]
            elif key.value == "quotas":
                for quota in self._quota_rows(value):
                    self._try(lambda quota=quota: self._quota(quota))  # type: ignore[misc]
            else:
                self._try(lambda key=key, value=value: self._brokers(key, value))  # type: ignore[misc]

    def _topic(self, key: Node, value: Node) -> None:
        name = key.value
        if not NAME.fullmatch(name) or name in (".", ".."):
            raise Fault(key.place, f"{name[:60]!r} cannot be a topic's name: 1 to 249 letters, digits, dots, underscores or hyphens.")
        if name.startswith("__"):
            raise Fault(key.place, f"{name} is internal: the cluster keeps it itself.")
        if name in self.topics:
            raise Fault(key.place, f"topic {name} is wanted at {self.topics[name].place} already.")
        found = {} if _is_empty(value) else _fields(value, TOPIC_FIELDS)
        if "assignment" in found and found.keys() & {"partitions", "replication_factor"}:
            raise Fault(key.place, f"topic {name}: assignment says partitions and copies already: leave the numbers out.")
        self.topics[name] = WantedTopic(key.place, **found)

    def _brokers(self, key: Node, value: Node) -> None:
        if self.brokers_at is not None:
            raise Fault(key.place, f"brokers are described at {self.brokers_at} already.")
        self.brokers_at = key.place
        self.broker_configs = None if _is_empty(value) else _fields(value, {"configs": _configs}).get("configs")

    def _quota_rows(self, value: Node) -> list[Node]:
        self.quotas = self.quotas or {}
        if _is_empty(value):
            return []
        if not isinstance(value.value, list):
            raise Fault(value.place, f"this is {value.kind}: quotas are a list of who is limited to what.")
        if len(value.value) + len(self.quotas) > QUOTAS_LIMIT:
            raise Fault(value.place, f"there are more than {QUOTAS_LIMIT} quotas.")
        return value.value

    def _quota(self, node: Node) -> None:
        found = _fields(node, QUOTA_FIELDS)
        limits = found.pop("limits", {})
        if not found or ("ip" in found and len(found) > 1):
            raise Fault(node.place, "a quota is of a user, of a client-id, of both together, or of an ip alone.")
        if wrong := sorted(limits.keys() - set(quotas.keys_of(found))):
            raise Fault(node.place, f"{wrong[0][:60]!r} is no limit of such a client: {', '.join(quotas.keys_of(found))}.")
        entity = quotas.written(found)
        if len(entity) > ENTITY_CHARS_MAX:
            raise Fault(node.place, "these names are too long for one quota.")
        known = self.quotas or {}
        if entity in known:
            raise Fault(node.place, f"the quota of {quotas.in_words(entity)} is wanted at {known[entity].place} already.")
        self.quotas = {**known, entity: WantedQuota(node.place, limits)}


# --- fields


def _fields(node: Node, readers: Mapping[str, Reader]) -> dict[str, Any]:
    return {key.value: readers[key.value](value) for key, value in _pairs(node, tuple(readers))}


def _pairs(node: Node, known: tuple[str, ...] | None = None) -> Iterator[tuple[Node, Node]]:
    """The keys and values of a mapping, each key once."""
    if not isinstance(node.value, dict):
        raise Fault(node.place, f"this is {node.kind}: a mapping (key: value) is wanted.")
    for key, value in node.value.values():
        if known is not None and key.value not in known:
            raise Fault(key.place, f"{key.value[:60]!r} is nothing that is known here: {', '.join(known)}.")
        yield key, value


def _is_empty(node: Node) -> bool:
    return node.plain and node.value in ("", "~", "null")


def _number(most: int) -> Reader:
    def read_it(node: Node) -> int:
        text = node.value
        if not isinstance(text, str) or not node.plain or not WHOLE.fullmatch(text) or not 1 <= int(text) <= most:
            shown = repr(text[:40]) if isinstance(text, str) else f"this ({node.kind})"
            raise Fault(node.place, f"{shown} is not a whole number from 1 to {most}.")
        return int(text)

    return read_it


def _configs(node: Node) -> dict[str, str]:
    return {key.value: _config(key, value) for key, value in ([] if _is_empty(node) else _pairs(node))}


def _config(key: Node, node: Node) -> str:
    if not isinstance(node.value, str):
        raise Fault(node.place, f"{key.value[:60]}: the value is {node.kind}: a text or number is wanted, as min.insync.replicas: 2.")
    if _is_empty(node):
        raise Fault(node.place, f"{key.value[:60]} has no value: leave the setting out for the default.")
    if len(node.value) > VALUE_CHARS_MAX:
        raise Fault(node.place, f"{key.value[:60]}: the value is longer than {VALUE_CHARS_MAX} letters.")
    return str(node.value)


def _assignment(node: Node) -> Assignment:
    if not isinstance(node.value, list) or not 1 <= len(node.value) <= PARTITIONS_MAX:
        raise Fault(node.place, f"assignment is a list of the replicas of each partition, as [[1, 2], [2, 3]]; {PARTITIONS_MAX} at most.")
    return tuple(map(_replicas, node.value))


def _replicas(node: Node) -> tuple[int, ...]:
    rows = node.value
    if not isinstance(rows, list) or not 1 <= len(rows) <= COPIES_MAX or not all(_is_id(row) for row in rows):
        raise Fault(node.place, f"the replicas of a partition are 1 to {COPIES_MAX} broker ids, the preferred leader first.")
    found = tuple(int(row.value) for row in rows)
    if len(set(found)) != len(found):
        raise Fault(node.place, f"a broker is named twice: {list(found)}.")
    return found


def _is_id(node: Node) -> bool:
    return isinstance(node.value, str) and node.plain and WHOLE.fullmatch(node.value) is not None


def _name(node: Node) -> str | None:
    """None for `<default>`."""
    if not isinstance(node.value, str) or not node.value:
        raise Fault(
            node.place, f"this is {node.kind if not isinstance(node.value, str) else 'empty'}: a name is wanted, or {quotas.DEFAULT}."
        )
    return None if node.plain and node.value == quotas.DEFAULT else node.value


def _limits(node: Node) -> dict[str, float]:
    return {key.value: _figure(key, value) for key, value in ([] if _is_empty(node) else _pairs(node))}


def _figure(key: Node, node: Node) -> float:
    text = node.value
    if not isinstance(text, str) or not node.plain or not FIGURE.fullmatch(text) or float(text) <= 0:
        raise Fault(node.place, f"{key.value[:60]}: a number above 0 is wanted, without a unit.")
    return float(text)


QUOTA_FIELDS: dict[str, Reader] = {"user": _name, "client-id": _name, "ip": _name, "limits": _limits}
TOPIC_FIELDS: dict[str, Reader] = {
    "partitions": _number(PARTITIONS_MAX),
    "replication_factor": _number(COPIES_MAX),
    "assignment": _assignment,
    "configs": _configs,
}

# --- YAML


def compose(file: str, text: str) -> Node | None:
    """The file's one document as nodes; None where there is none. `Fault` for what is no YAML or more of YAML than is taken here."""
    composer = _Composer(file)
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            composer.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Fault(Place(file, mark.line + 1 if mark else 1), f"this is no YAML: {error.problem or error.context}.") from None
    except (yaml.YAMLError, UnicodeError, ValueError) as error:
        raise Fault(Place(file, 1), f"this is no YAML: {str(error).splitlines()[0][:200]}.") from None
    return composer.root


class _Composer:
    """`open` are the collections that have begun: each with the key whose value comes next, where it is a mapping."""

    def __init__(self, file: str) -> None:
        self._file, self._nodes = file, 0
        self.root: Node | None = None
        self._open: list[tuple[Node, list[Node]]] = []

    def take(self, event: Any) -> None:
        place = Place(self._file, event.start_mark.line + 1)
        match event:
            case yaml.AliasEvent():
                raise Fault(place, f"the alias *{event.anchor} is not taken here: write the value out.")
            case yaml.ScalarEvent():
                self._refuse_tag(event, place)
                self._add(Node(place, event.value, plain=event.style in (None, "")))
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._refuse_tag(event, place)
                node = Node(place, {} if isinstance(event, yaml.MappingStartEvent) else [])
                self._add(node)
                self._open.append((node, []))
                if len(self._open) > DEPTH_LIMIT:
                    raise Fault(place, f"this is nested deeper than {DEPTH_LIMIT} times.")
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._open.pop()
            case yaml.DocumentStartEvent() if self.root is not None:
                raise Fault(place, "a second document begins here: one a file.")

    def _refuse_tag(self, event: Any, place: Place) -> None:
        if event.tag not in (None, "!"):
            raise Fault(place, f"the tag {event.tag[:60]} is not taken here.")

    def _add(self, node: Node) -> None:
        self._nodes += 1
        if self._nodes > NODES_LIMIT:
            raise Fault(node.place, f"there are more than {NODES_LIMIT} values in this file.")
        if not self._open:
            self.root = node
            return
        parent, waiting = self._open[-1]
        if isinstance(parent.value, list):
            parent.value.append(node)
        elif waiting:
            key = waiting.pop()
            parent.value[key.value] = (key, node)
        else:
            self._key(parent, node)
            waiting.append(node)

    def _key(self, parent: Node, node: Node) -> None:
        if not isinstance(node.value, str):
            raise Fault(node.place, f"a key is {node.kind}: a name is wanted.")
        if node.value in parent.value:
            before = parent.value[node.value][0].place
            raise Fault(node.place, f"{node.value[:60]!r} comes twice: it is at line {before.line} already.")
