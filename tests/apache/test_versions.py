"""Which requests are served in which versions, and what happens to the others."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from broker_core.protocol.api import MAX_VERSION_3_9, OF_ZOOKEEPER_BROKERS, ApiKey
from broker_core.protocol.codec import decode_response
from broker_core.protocol.departures import NOT_SERVED
from broker_core.protocol.headers import encode_request_frame
from tests.apache.comparison import Case, Pair
from tests.apache.side import Side

pytestmark = pytest.mark.spec("N2")


def asked(version: int, name: str = "tool", software: str = "1.0") -> Any:
    def script(side: Side) -> Any:
        answer = side.ask(ApiKey.API_VERSIONS, version, {"client_software_name": name, "client_software_version": software})
        answer["api_keys"] = [row for row in answer["api_keys"] if ApiKey(row["api_key"]) not in NOT_SERVED]
        return answer

    return script


def future(version: int) -> Any:
    """An ApiVersions request of a version that does not exist yet is answered in version 0."""

    def script(side: Side) -> Any:
        connection = side.connect()
        header = struct.pack(">hhih", ApiKey.API_VERSIONS, version, 9, 4) + b"tool"
        connection.send_frame(header + b"\0\5tool\2x\0")
        frame = connection.receive_frame()
        assert frame is not None
        answer = side.plain(decode_response(ApiKey.API_VERSIONS, 0, frame, 4))
        return answer["error_code"], [row for row in answer["api_keys"] if ApiKey(row["api_key"]) not in NOT_SERVED]

    return script


def refused(key: int, version: int, body: bytes = b"") -> Any:
    """Whether a request that nobody knows gets an answer."""

    def script(side: Side) -> Any:
        connection = side.connect()
        connection.send_frame(struct.pack(">hhih", key, version, 9, -1) + body)
        return connection.receive_frame()

    return script


def cut(side: Side) -> Any:
    """A request that ends in the middle."""
    connection = side.connect()
    connection.send_frame(encode_request_frame(ApiKey.METADATA, 12, 1, "tool", {"topics": []})[:-6])
    return connection.receive_frame()


CASES = [
    *(Case(f"version {version}", asked(version)) for version in range(5)),
    Case("name of no software", asked(3, "", "1")),
    Case("odd name of a software", asked(3, "a b", "1")),
    Case("odd version of a software", asked(3, "tool", "-1-")),
    Case("version 5", future(5)),
    Case("version of the far future", future(32000)),
    Case("unknown key", refused(999, 0)),
    Case("negative key", refused(-2, 0)),
    Case("produce version 12", refused(ApiKey.PRODUCE, 12)),
    Case("metadata version 13", refused(ApiKey.METADATA, 13, b"\0")),
    Case("negative version", refused(ApiKey.METADATA, -1)),
    Case("cut request", cut),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_versions(pair: Pair, case: Case) -> None:
    pair.compare(case)


def test_what_is_not_served_is_served_by_kafka(pair: Pair) -> None:
    kafka, ours = pair.both(lambda side: {row.api_key for row in side.raw(ApiKey.API_VERSIONS, 0, {}).api_keys})
    assert kafka - ours == set(NOT_SERVED)
    assert ours <= kafka


def test_kafka_serves_what_the_page_of_the_protocol_says(pair: Pair) -> None:
    kafka, _ = pair.both(
        lambda side: {row.api_key: (row.min_version, row.max_version) for row in side.raw(ApiKey.API_VERSIONS, 0, {}).api_keys}
    )
    assert kafka == {key: (0, MAX_VERSION_3_9[key]) for key in OF_ZOOKEEPER_BROKERS}
