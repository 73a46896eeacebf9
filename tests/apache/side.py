"""One of the two brokers that are compared: requests go out as bytes, answers come back as plain values that can be equal.

`Side.ask` drops what must differ between two clusters (addresses, ids of the cluster, throttle times), names what is drawn at random
after the order of its appearance (`member-1`, `producer-1`), writes error codes by name, and keeps of a message only that there is one.
"""

from __future__ import annotations

import socket
import struct
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from broker_core.errors import ErrorCode
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import decode_response
from broker_core.protocol.headers import encode_request_frame, parse_response_header
from broker_core.records.batch import LOG_OVERHEAD_BYTES, Record, build_batch, iter_headers, read_records

T = TypeVar("T")
ANSWER_SECONDS = 40.0
CLOSED = "the connection was closed"
DROPPED = frozenset({"throttle_time", "host", "port", "cluster_id", "log_dir", "client_host", "total_bytes", "usable_bytes"})
RANDOM = {"member_id": "member", "leader": "member", "producer_id": "producer", "session_id": "session"}
NULL_IS_EMPTY = frozenset({"aborted_transactions"})
NOBODY: tuple[Any, ...] = ("", None, 0)
AN_HOUR_MS = 3_600_000
A_DAY_MS = 24 * AN_HOUR_MS
TIME_MS = (int(time.time() * 1000) // A_DAY_MS - 1) * A_DAY_MS
"""The timestamp of records made for comparisons: the beginning of yesterday. Older than the brokers keep records, either could delete
them in the midst of a case."""


class Connection:
    """One TCP connection; `send` and `receive` apart let a request wait while others go on elsewhere."""

    def __init__(self, port: int, client_id: str) -> None:
        self._client_id = client_id
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS)
        self._stream = self._socket.makefile("rwb")
        self._correlation_id = 0

    def send(self, key: ApiKey, version: int, payload: Mapping[str, Any]) -> None:
        self._correlation_id += 1
        self.send_frame(encode_request_frame(key, version, self._correlation_id, self._client_id, payload))

    def send_frame(self, frame: bytes) -> None:
        self._stream.write(struct.pack(">i", len(frame)) + frame)
        self._stream.flush()

    def receive(self, key: ApiKey, version: int) -> Any:
        """The decoded answer; `CLOSED` when there is none."""
        frame = self.receive_frame()
        return CLOSED if frame is None else decode_response(key, version, frame, parse_response_header(key, version, frame)[1])

    def receive_frame(self) -> bytes | None:
        try:
            prefix = self._stream.read(4)
            return self._stream.read(struct.unpack(">i", prefix)[0]) if len(prefix) == 4 else None
        except ConnectionError:
            return None

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


class Side:
    """One broker during one comparison."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._connections: list[Connection] = []
        self._names: dict[tuple[str, Any], str] = {}
        self._main = self.connect()

    def connect(self, client_id: str = "compared") -> Connection:
        self._connections.append(Connection(self.port, client_id))
        return self._connections[-1]

    def close(self) -> None:
        for connection in self._connections:
            connection.close()

    def raw(self, key: ApiKey, version: int, payload: Mapping[str, Any]) -> Any:
        """The decoded answer as it came, on this side's own connection; after a close the next request opens a new one."""
        self._main.send(key, version, payload)
        answer = self._main.receive(key, version)
        if answer is CLOSED:
            self._main = self.connect()
        return answer

    def ask(self, key: ApiKey, version: int, payload: Mapping[str, Any]) -> Any:
        return self.plain(self.raw(key, version, payload))

    def plain(self, value: Any, field: str = "") -> Any:
        """A comparable form of a decoded answer."""
        if hasattr(value, "_fields"):
            return {name: self.plain(getattr(value, name), name) for name in value._fields if name not in DROPPED}
        if field in NULL_IS_EMPTY and value is None:
            return []
        if isinstance(value, (list, tuple)):
            items = [self.plain(item, field) for item in value]
            return sorted(items, key=repr) if any(isinstance(item, dict) for item in items) else items
        return self._scalar(value, field)

    def _scalar(self, value: Any, field: str) -> Any:
        if field.endswith("error_code"):
            return _error_name(value)
        if field.endswith("error_message"):
            return "a message" if value else None
        if isinstance(value, uuid.UUID):
            return "an id" if value.int else "no id"
        if isinstance(value, int) and abs(value - time.time() * 1000) < AN_HOUR_MS:
            return "now"
        if isinstance(value, (bytes, memoryview)):
            return (whole_batches(bytes(value)) if field == "records" else bytes(value)).hex()
        kind = RANDOM.get(field)
        nobody = value < 0 if field == "producer_id" else value in NOBODY
        if kind is None or nobody or (field == "leader" and isinstance(value, int)):
            return value
        return self._names.setdefault((kind, value), f"{kind}-{sum(known == kind for known, _ in self._names) + 1}")

    # What scenarios do again and again.

    def create(self, topic: str, partitions: int = 1, **configs: str) -> None:
        """A topic that can be used at once; `segment_bytes="1000"` for `segment.bytes`."""
        rows = [{"name": name.replace("_", "."), "value": value} for name, value in configs.items()]
        wanted = {"name": topic, "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": rows}
        answer = self.raw(ApiKey.CREATE_TOPICS, 7, {"topics": [wanted], "timeout": 30_000, "validate_only": False})
        assert answer.topics[0].error_code == ErrorCode.NONE, answer
        self.until_led(topic, partitions)

    def until(self, find: Callable[[], T], holds: Callable[[T], bool], within_seconds: float = ANSWER_SECONDS) -> T:
        """The first finding that holds, or the last one when none does in time."""
        deadline = time.monotonic() + within_seconds
        while not holds(found := find()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return found

    def until_led(self, topic: str, partitions: int = 1) -> None:
        """Until every partition has a leader that says so itself, and the metadata as well: that may learn of it later."""
        rows = [{"partition_index": index, "timestamp": -1, "current_leader_epoch": -1} for index in range(partitions)]
        payload = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": topic, "partitions": rows}]}
        asked = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}

        def errors() -> set[int]:
            led = {row.error_code for row in self.raw(ApiKey.LIST_OFFSETS, 5, payload).topics[0].partitions}
            known = self.raw(ApiKey.METADATA, 9, asked).topics[0]
            return led | {known.error_code} | {row.error_code for row in known.partitions}

        found = self.until(errors, lambda codes: codes == {ErrorCode.NONE})
        assert found == {ErrorCode.NONE}, f"{topic} has no leader: {found}"

    def topic_id(self, topic: str) -> uuid.UUID:
        answer = self.raw(ApiKey.METADATA, 12, {"topics": [{"name": topic, "topic_id": uuid.UUID(int=0)}]})
        found = answer.topics[0].topic_id
        assert isinstance(found, uuid.UUID)
        return found

    def produce(self, topic: str, records: bytes | None, *, acks: int = -1, version: int = 9, partition: int = 0) -> Any:
        rows = [{"name": topic, "partition_data": [{"index": partition, "records": records}]}]
        return self.ask(ApiKey.PRODUCE, version, {"transactional_id": None, "acks": acks, "timeout": 10_000, "topic_data": rows})

    def fetch(self, topic: str, offset: int = 0, *, version: int = 11, max_bytes: int = 1 << 20, **request: Any) -> Any:
        """One partition, without a session; further keywords are fields of the request or, in `partition_`, of its one partition."""
        row = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": max_bytes, "current_leader_epoch": -1}
        row |= {name.removeprefix("partition_"): value for name, value in request.items() if name.startswith("partition_")}
        fields = {"replica_id": -1, "max_wait": 500, "min_bytes": 0, "max_bytes": 1 << 20, "isolation_level": 0, "session_id": 0}
        fields |= {"session_epoch": -1, "topics": [{"topic": topic, "partitions": [row]}], "forgotten_topics_data": [], "rack_id": ""}
        return self.ask(ApiKey.FETCH, version, fields | {n: v for n, v in request.items() if not n.startswith("partition_")})


def batch(*values: str, time_ms: int = TIME_MS, **fields: Any) -> bytes:
    """One batch of these values; keywords as of `build_batch`."""
    records = [Record(index, time_ms + index, None, value.encode(), ()) for index, value in enumerate(values)]
    return build_batch(records, **fields)


def records_of(data: bytes | memoryview | None) -> list[tuple[int, int, bytes | None, bytes | None]]:
    """(offset, timestamp, key, value) of every record in fetched bytes."""
    found = bytes(data or b"")
    return [
        (record.offset, record.timestamp_ms, record.key, record.value)
        for position, header in iter_headers(found)
        for record in read_records(found, position, header)
    ]


def whole_batches(data: bytes) -> bytes:
    """Without the batch at the end that `max_bytes` may have cut: clients drop it."""
    end = 0
    while len(data) - end >= LOG_OVERHEAD_BYTES:
        following = end + LOG_OVERHEAD_BYTES + int.from_bytes(data[end + 8 : end + LOG_OVERHEAD_BYTES], "big")
        if following > len(data):
            break
        end = following
    return data[:end]


def _error_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"
