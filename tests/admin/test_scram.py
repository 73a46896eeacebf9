"""Users' SCRAM credentials: what is kept of a password, beside what else is kept of the user."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from broker_core.admin.scram import Deletion, Upsertion, changed_credentials, credential, wrong_changes, znode_name
from broker_core.coordination.layout import CONFIG_CHANGES, config_path
from broker_core.coordination.znode_data import decode_config, decode_config_change, encode_config
from broker_core.errors import ErrorCode, KafkaError
from tests.support.admin_world import AdminWorld


def upsertion(user: str, mechanism: int = 1, iterations: int = 4096, password: bytes = b"pencil") -> Upsertion:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    name = {1: "sha256", 2: "sha512"}.get(mechanism, "sha256")
    return Upsertion(user, mechanism, iterations, salt, hashlib.pbkdf2_hmac(name, password, salt, iterations))


@pytest_asyncio.fixture
async def world() -> AsyncIterator[AdminWorld]:
    world = await AdminWorld.start()
    yield world
    await world.close()


def test_the_keys_are_those_of_the_standard() -> None:
    """The example of RFC 7677, with the keys that follow from its proof."""
    assert credential(upsertion("user")) == (
        "salt=W22ZaJ0SNY7soEsUEjb6gQ==,stored_key=WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=,"
        "server_key=wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=,iterations=4096"
    )


def test_a_user_s_name_in_zookeeper() -> None:
    assert znode_name("CN=a b/c*~") == "CN%3Da%20b%2Fc%2A%7E"


def test_what_is_wrong_whatever_is_kept() -> None:
    wrong = wrong_changes(
        [upsertion(""), upsertion("few", 1, 4095), upsertion("many", 2, 16385), upsertion("twice"), upsertion("twice"), upsertion("right")],
        [Deletion("unknown", 3), Deletion("right", 2)],
    )
    assert {user: error.code for user, error in wrong.items()} == {
        "": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "few": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "many": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "twice": ErrorCode.DUPLICATE_RESOURCE,
        "unknown": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
    }


def test_what_else_is_kept_of_a_user_stays() -> None:
    kept = {"producer_byte_rate": "1000", "SCRAM-SHA-512": "old"}
    wanted = changed_credentials(kept, [upsertion("u")], [Deletion("u", 2)])
    assert wanted.keys() == {"producer_byte_rate", "SCRAM-SHA-256"} and kept["SCRAM-SHA-512"] == "old"
    with pytest.raises(KafkaError, match="does not exist"):
        changed_credentials({}, [upsertion("u")], [Deletion("u", 2)])


async def test_credentials_are_kept_told_of_and_announced(world: AdminWorld) -> None:
    path = config_path("users", "anna")
    await world.store.create(path, encode_config({"producer_byte_rate": "1000"}))
    assert await world.admin.scram.alter([upsertion("anna"), upsertion("bert", 2, 8192)], []) == {"anna": None, "bert": None}
    assert await world.admin.scram.describe([]) == {"anna": {1: 4096}, "bert": {2: 8192}}
    assert decode_config((await world.store.get(path))[0]).keys() == {"producer_byte_rate", "SCRAM-SHA-256"}
    changes = [
        decode_config_change((await world.store.get(f"{CONFIG_CHANGES}/{name}"))[0]) for name in await world.store.children(CONFIG_CHANGES)
    ]
    assert sorted(changes) == ["users/anna", "users/bert"]
    outcome = await world.admin.scram.alter([], [Deletion("anna", 1), Deletion("bert", 1)])
    assert outcome["anna"] is None
    assert outcome["bert"] is not None and outcome["bert"].code is ErrorCode.RESOURCE_NOT_FOUND
    found = await world.admin.scram.describe(["anna", "bert", "bert", ""])
    codes = {user: told.code for user, told in found.items() if isinstance(told, KafkaError)}
    assert codes == {"anna": ErrorCode.RESOURCE_NOT_FOUND, "bert": ErrorCode.DUPLICATE_RESOURCE, "": ErrorCode.RESOURCE_NOT_FOUND}


async def test_what_is_no_settings_is_not_written_over(world: AdminWorld) -> None:
    await world.store.create(config_path("users", "odd"), b"\xff")
    outcome = await world.admin.scram.alter([upsertion("odd")], [])
    assert outcome["odd"] is not None and outcome["odd"].code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert (await world.store.get(config_path("users", "odd")))[0] == b"\xff"
