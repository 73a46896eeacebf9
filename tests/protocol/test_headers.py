"""Headers by key and version, and their exceptions."""

from __future__ import annotations

import struct

import pytest

from broker_core.errors import ErrorCode, ProtocolViolation
from broker_core.protocol import codec
from broker_core.protocol.api import FLEXIBLE_FROM, MAX_VERSION_3_9, VENDOR_KEY_MIN, ApiKey, request_header_version, response_header_version
from broker_core.protocol.headers import encode_request_frame, parse_request_header, parse_response_header, request_header, response_header
from tests.support.payloads import every_message, kio_type


def test_header_versions_are_kios() -> None:
    assert set(MAX_VERSION_3_9) == set(FLEXIBLE_FROM) == set(ApiKey)
    for key, version, side in every_message():
        header_version = request_header_version if side.value == "request" else response_header_version
        assert header_version(key, version) == kio_type(key, version, side).__header_schema__.__version__, (key, version, side)


@pytest.mark.parametrize("client_id", [None, "", "rdkafka", "名前"])
@pytest.mark.parametrize(("key", "version"), [(ApiKey.METADATA, 1), (ApiKey.METADATA, 9), (ApiKey.API_VERSIONS, 3)])
def test_round_trip(key: ApiKey, version: int, client_id: str | None) -> None:
    frame = encode_request_frame(key, version, 77, client_id, {})
    header = parse_request_header(memoryview(frame))
    assert header[:4] == (key, version, 77, client_id)
    assert isinstance(header.api_key, ApiKey)
    codec.decode_request(key, version, frame, header.body_offset)


def test_controlled_shutdown_v0_has_no_client_id() -> None:
    frame = encode_request_frame(ApiKey.CONTROLLED_SHUTDOWN, 0, 5, "ignored", {"broker_id": 3})
    assert frame == struct.pack(">hhii", 7, 0, 5, 3)
    assert parse_request_header(frame)[2:] == (5, None, 8)


def test_tagged_fields_of_a_header_are_skipped() -> None:
    frame = struct.pack(">hhih", 18, 3, 5, 1) + b"a" + b"\x01\x07\x02xx" + b"body"
    assert parse_request_header(frame).body_offset == len(frame) - 4


def test_api_versions_is_answered_with_a_v0_header_and_body_when_the_client_guessed_too_high() -> None:
    """KIP-511: the header of a version above ours can be read, and the answer is one that every client understands."""
    header = parse_request_header(struct.pack(">hhih", 18, 99, 5, 1) + b"a\0whatever")
    assert (header.api_version, header.client_id) == (99, "a")
    body = codec.encode_response(
        ApiKey.API_VERSIONS, 0, {"error_code": ErrorCode.UNSUPPORTED_VERSION, "api_keys": [{"api_key": 18, "max_version": 4}]}
    )
    assert response_header(ApiKey.API_VERSIONS, 99, 5) + body == struct.pack(">ihihhh", 5, 35, 1, 18, 0, 4)


def test_api_versions_v3_of_a_java_client() -> None:
    """The request bytes as the Java client writes them; the answer's header stays v0, its body is flexible."""
    frame = bytes.fromhex("0012 0003 00000001 0007 61646d696e2d31 00 12 6170616368652d6b61666b612d6a617661 06 332e392e30 00")
    header = parse_request_header(frame)
    request = codec.decode_request(header.api_key, header.api_version, frame, header.body_offset)
    assert (request.client_software_name, request.client_software_version) == ("apache-kafka-java", "3.9.0")
    assert response_header(ApiKey.API_VERSIONS, 3, 1) == b"\0\0\0\1"


def test_vendor_keys_pass_with_a_plain_header() -> None:
    frame = request_header(VENDOR_KEY_MIN, 0, 9, "live") + b"body"
    header = parse_request_header(frame)
    assert header == (VENDOR_KEY_MIN, 0, 9, "live", len(frame) - 4)
    assert response_header(VENDOR_KEY_MIN, 0, 9) == struct.pack(">i", 9)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b"", id="empty"),
        pytest.param(bytes(7), id="short"),
        pytest.param(struct.pack(">hhih", 999, 0, 1, -1), id="unknown key"),
        pytest.param(struct.pack(">hhih", 3, -1, 1, -1), id="negative version"),
        pytest.param(struct.pack(">hhih", 3, 0, 1, -2), id="negative length"),
        pytest.param(struct.pack(">hhih", 3, 0, 1, 5) + b"abc", id="cut client id"),
        pytest.param(struct.pack(">hhih", 3, 9, 1, -1), id="no tag count"),
        pytest.param(struct.pack(">hhih", 3, 0, 1, 1) + b"\xff", id="no UTF-8"),
    ],
)
def test_violations(frame: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        parse_request_header(frame)


def test_response_headers() -> None:
    assert parse_response_header(ApiKey.METADATA, 8, b"\0\0\0\5rest") == (5, 4)
    assert parse_response_header(ApiKey.METADATA, 9, b"\0\0\0\5\x01\x02\x01xrest") == (5, 8)
    for frame in (b"", b"\0\0\0", b"\0\0\0\5"):
        with pytest.raises(ProtocolViolation):
            parse_response_header(ApiKey.METADATA, 9, frame)
