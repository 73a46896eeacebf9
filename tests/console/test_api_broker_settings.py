"""A broker's settings by REST."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.support.openapi import check_answer

BROKERS = "/api/v1/clusters/local/brokers"


def get(tokens: Any, path: str) -> Any:
    answer = Client().get(path, headers=tokens["viewer"])
    check_answer("GET", path, answer.status_code, answer.headers["Content-Type"].partition(";")[0], answer.json())
    return answer


def test_a_broker_s_settings_are_answered_as_it_says(tokens: Any, shown: Any, kafka: Any) -> None:
    kafka.broker_configs_[2] = {"num.replica.fetchers": "4"}
    rows = {row["name"]: row for row in get(tokens, f"{BROKERS}/2/settings").json()["items"]}
    found = rows["num.replica.fetchers"]
    assert (found["value"], found["set_for"], found["read_only"]) == ("4", "this broker", False)
    assert rows["broker.id"]["read_only"] is True


@pytest.mark.parametrize("path", [f"{BROKERS}/99/settings", f"{BROKERS.replace('local', 'elsewhere')}/1/settings"])
def test_of_none_that_is_known_there_are_none(tokens: Any, shown: Any, kafka: Any, path: str) -> None:
    assert get(tokens, path).status_code == 404
