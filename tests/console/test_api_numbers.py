"""Numbers of any size in REST's addresses: none is an error of ours."""

from __future__ import annotations

from typing import Any

import pytest

from tests.console.test_api import BASE
from tests.console.test_api_changes import Asked

HUGE = ("0", str(2**31), str(2**63 - 1), str(2**63), str(10**19), "9" * 300)
PLACES = ("/api/v1/jobs/{}", f"{BASE}/reports/{{}}", f"{BASE}/brokers/{{}}", f"{BASE}/events?broker={{}}", f"{BASE}/events?cursor={{}}")


@pytest.mark.parametrize("number", HUGE)
@pytest.mark.parametrize("place", PLACES)
def test_a_number_too_large_is_not_there(local: Any, shown: Any, tokens: dict[str, dict[str, str]], place: str, number: str) -> None:
    answer = Asked(tokens["viewer"])("GET", place.format(number))
    assert answer.status_code < 500, (place, number, answer.content)


@pytest.mark.parametrize("number", HUGE[1:])
def test_nothing_of_that_number_is_changed(local: Any, shown: Any, tokens: dict[str, dict[str, str]], number: str) -> None:
    for path in (f"/api/v1/jobs/{number}",):
        assert Asked(tokens["admin"])("DELETE", path).status_code == 404
    assert Asked(tokens["admin"])("POST", f"{BASE}/brokers/{number}/pause").status_code < 500
