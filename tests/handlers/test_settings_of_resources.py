"""Settings by the wire: of loggers (KIP-412), of kinds that have none, of what is named twice."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from broker_core.errors import ErrorCode
from broker_core.handlers import alter_configs, describe_configs, incremental_alter_configs
from tests.support.admin_world import AdminWorld
from tests.support.api_client import ApiClient

TOPIC, BROKER, LOGGER = 2, 4, 8
SET, DELETE, APPEND = range(3)
NAME = "highwater.tests.by.the.wire"


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    found = logging.getLogger(NAME)
    yield found
    found.setLevel(logging.NOTSET)


@pytest.fixture
def client() -> ApiClient:
    world = AdminWorld(1)
    return ApiClient(SimpleNamespace(admin=world.admin, metadata=world.metadata))


async def altered(client: ApiClient, *changes: tuple[str, int, str | None], broker: str = "1", validate_only: bool = False) -> Any:
    rows = [{"name": name, "config_operation": operation, "value": value} for name, operation, value in changes]
    resource = {"resource_type": LOGGER, "resource_name": broker, "configs": rows}
    answer = await client.call(incremental_alter_configs.handle, 1, resources=[resource], validate_only=validate_only)
    return answer.responses[0].error_code


async def level(client: ApiClient) -> str:
    asked = {"resource_type": LOGGER, "resource_name": "1", "configuration_keys": [NAME]}
    answer = await client.call(describe_configs.handle, 4, resources=[asked], include_synonyms=True, include_documentation=False)
    (row,) = answer.results[0].configs
    assert (row.config_source, row.config_type, row.read_only, row.synonyms, row.documentation) == (6, 0, False, (), "")
    return str(row.value)


async def test_a_level_changes_while_the_process_runs(client: ApiClient, logger: logging.Logger) -> None:
    assert await altered(client, (NAME, SET, "DEBUG")) == ErrorCode.NONE
    assert logger.isEnabledFor(logging.DEBUG) and await level(client) == "DEBUG"
    assert await altered(client, (NAME, SET, "FATAL"), validate_only=True) == ErrorCode.NONE
    assert await level(client) == "DEBUG"
    assert await altered(client, (NAME, SET, "ERROR")) == ErrorCode.NONE
    assert not logger.isEnabledFor(logging.WARNING) and await level(client) == "ERROR"
    assert await altered(client, (NAME, DELETE, None)) == ErrorCode.NONE
    assert logger.level == logging.NOTSET


async def test_nothing_changes_where_one_change_is_wrong(client: ApiClient, logger: logging.Logger) -> None:
    assert await altered(client, (NAME, SET, "ERROR"), ("no.such", SET, "INFO")) == ErrorCode.INVALID_CONFIG
    assert await altered(client, (NAME, SET, "loud")) == ErrorCode.INVALID_CONFIG
    assert await altered(client, (NAME, APPEND, "ERROR")) == ErrorCode.INVALID_REQUEST
    assert await altered(client, ("root", DELETE, None)) == ErrorCode.INVALID_REQUEST
    assert await altered(client, (NAME, SET, "ERROR"), broker="2") == ErrorCode.INVALID_REQUEST
    assert logger.level == logging.NOTSET


async def test_one_kind_without_settings_refuses_a_description_whole(client: ApiClient) -> None:
    rows = [{"resource_type": kind, "resource_name": "1", "configuration_keys": None} for kind in (BROKER, 3)]
    answer = await client.call(describe_configs.handle, 4, resources=rows, include_synonyms=False, include_documentation=False)
    told = [(row.resource_type, row.resource_name, row.error_code, row.configs) for row in answer.results]
    assert told == [(BROKER, "1", ErrorCode.INVALID_REQUEST, ()), (3, "1", ErrorCode.INVALID_REQUEST, ())]


async def test_a_resource_named_twice_is_changed_by_neither(client: ApiClient) -> None:
    named = [
        {"resource_type": kind, "resource_name": name, "configs": []} for kind, name in ((BROKER, "1"), (TOPIC, "no-such"), (BROKER, "1"))
    ]
    for handler, version in ((alter_configs.handle, 2), (incremental_alter_configs.handle, 1)):
        answer = await client.call(handler, version, resources=named, validate_only=True)
        codes = [row.error_code for row in answer.responses]
        assert codes == [ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_REQUEST]
