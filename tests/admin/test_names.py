"""Topic names (Kafka's Topic class)."""

from __future__ import annotations

import pytest

from broker_core.admin.names import check_topic_name, collisions
from broker_core.errors import ErrorCode, KafkaError


@pytest.mark.parametrize("name", ["a", "orders", "A.b_c-9", "x" * 249, "...", "__consumer_offsets"])
def test_legal_names_pass(name: str) -> None:
    check_topic_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "x" * 250, "a b", "a/b", "größe", "a\n", "a:b"])
def test_illegal_names_are_refused(name: str) -> None:
    with pytest.raises(KafkaError) as caught:
        check_topic_name(name)
    assert caught.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_dot_and_underscore_collide() -> None:
    assert collisions("a.b", ["a_b", "a-b", "a.b", "a.c"]) == ["a_b"]
