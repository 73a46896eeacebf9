"""What a part of a page was made from is written on it as the page's script reads the same fields of the live value."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from console.templatetags.stale import stale_on

VALUE = SimpleNamespace(
    state="safe", leader=None, isr=(1, 3), is_controller=True, rows=(object(), object()), log_dir=SimpleNamespace(state="<ok>")
)


@pytest.mark.parametrize(
    ("fields", "was"),
    [
        ("state,leader,isr", "safe,,1,3"),
        ("is_controller", "true"),
        ("rows.length,log_dir.state", "2,&lt;ok&gt;"),
        ("leader.state,leader.length", ","),
    ],
)
def test_fields_are_told_as_the_script_joins_them(fields: str, was: str) -> None:
    told = stale_on(VALUE, fields, "partition", "orders", 3)
    assert told == f'data-stale-key="partition/orders/3" data-stale-on="{fields}" data-stale-was="{was}"'


@pytest.mark.parametrize("value", [None, SimpleNamespace()])
def test_of_what_is_not_known_any_value_is_another(value: Any) -> None:
    assert 'data-stale-was=""' in stale_on(value, "state", "job", 1)


def test_a_name_ends_no_attribute() -> None:
    assert '"' not in stale_on(VALUE, "state", "group", '" onload="x').split("data-stale-on")[0][len('data-stale-key="') : -2]
