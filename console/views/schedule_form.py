"""What the form of a schedule is told, and what it is filled with: texts as they were typed, until they are read as parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console.errors import Invalid
from console.jobs import scheduled
from console.jobs.reassignment import parse_rate, parse_throttle, typed_throttle
from console.models import Schedule
from console.planning.model import AIMS

TEXTS = (
    *("name", "kind", "cron", "zone", "scope", "topics", "broker"),
    *("goal", "moved", "rf", "away", "instead", "aims", "moves_max", "copy_bytes_max", "throttle", "at_once"),
)
AIMS_TYPED = ", ".join(aim for aim in AIMS if aim != "traffic")
"""Without what no broker tells of a partition yet."""
EMPTY: dict[str, Any] = {
    **dict.fromkeys(TEXTS, ""),
    "kind": scheduled.ELECTION,
    "cron": "0 2 * * *",
    "zone": "UTC",
    "scope": "all",
    "goal": "balance",
    "aims": AIMS_TYPED,
    "to": [],
    "leaders": False,
    "paused": False,
}


def typed(form: Any) -> dict[str, Any]:
    """Of what was sent."""
    given = {name: form.get(name, "").strip()[:20_000] for name in TEXTS}
    return given | {"to": form.getlist("to")[:1_000], "leaders": form.get("leaders") == "1", "paused": form.get("paused") == "1"}


def params_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """As REST takes them; `Invalid` names the field that cannot be read."""
    if values["kind"] == scheduled.ELECTION:
        return _election(values)
    if values["kind"] != scheduled.MOVES:
        return {}
    limits = {
        "moves_max": _number(values, "moves_max"),
        "copy_bytes_max": _bytes(values, "copy_bytes_max"),
        "throttle": parse_throttle(values["throttle"]),
        "at_once": _number(values, "at_once"),
    }
    topics = _names(values["moved"])
    found = {"topics": topics or None, "goal": _goal(values), **limits}
    return {name: value for name, value in found.items() if value is not None}


def _election(values: Mapping[str, Any]) -> dict[str, Any]:
    if values["scope"] == "broker":
        if not values["broker"]:
            raise Invalid("broker", "Choose the broker.")
        return {"broker": _number(values, "broker")}
    if values["scope"] == "topics":
        if not (topics := _names(values["topics"])):
            raise Invalid("topics", "Name a topic, or choose all.")
        return {"topics": topics}
    return {}


def _goal(values: Mapping[str, Any]) -> dict[str, Any]:
    to = sorted(_id("to", text) for text in values["to"])
    kinds: dict[str, dict[str, Any]] = {
        "to": {"to": to},
        "factor": {"replication_factor": _number(values, "rf"), "to": to},
        "away": {"away": _ids(values, "away"), "instead": _number(values, "instead")},
        "balance": {"balance": _names(values["aims"])},
        "leaders": {"leaders": True},
    }
    if values["goal"] not in kinds:
        raise Invalid("goal", "Choose what is wanted.")
    if values["goal"] == "to" and not to:
        raise Invalid("goal", "Choose the brokers to move to.")
    if values["goal"] == "away" and not values["away"]:
        raise Invalid("goal", "Choose the broker to be emptied.")
    found = kinds[values["goal"]] | ({"leaders": True} if values["leaders"] else {})
    return {name: value for name, value in found.items() if value not in (None, [])}


def _names(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _ids(values: Mapping[str, Any], field: str) -> list[int]:
    return [_id(field, text) for text in _names(values[field])]


def _id(field: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 11):
        raise Invalid(field, f"{text[:20]!r} is no broker's id.")
    return int(text)


def _number(values: Mapping[str, Any], field: str) -> int | None:
    text = values[field]
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise Invalid(field, "Give a whole number, or nothing.")
    return int(text)


def _bytes(values: Mapping[str, Any], field: str) -> int | None:
    try:
        return parse_rate(values[field])
    except Invalid:
        raise Invalid(field, "Give bytes, as 10 GiB or 1000000.") from None


def values_of(row: Schedule) -> dict[str, Any]:
    """What a form of this schedule begins with."""
    params = row.params
    goal: Mapping[str, Any] = params.get("goal") or {}
    own = {"name": row.name, "kind": row.kind, "cron": row.cron, "zone": row.zone, "paused": row.paused}
    numbers = {name: str(params[name]) for name in ("moves_max", "copy_bytes_max", "at_once") if name in params}
    topics = ", ".join(params.get("topics") or [])
    throttle = {"throttle": typed_throttle(params["throttle"])} if "throttle" in params else {}
    found = {**EMPTY, **own, **numbers, **throttle, "moved" if row.kind == scheduled.MOVES else "topics": topics}
    found["scope"] = "broker" if "broker" in params else "topics" if topics else "all"
    found["broker"] = str(params.get("broker", ""))
    kinds = (("balance", "balance"), ("away", "away"), ("replication_factor", "factor"), ("to", "to"), ("leaders", "leaders"))
    found["goal"] = next((kind for name, kind in kinds if goal.get(name)), "balance")
    found["aims"] = ", ".join(goal.get("balance") or []) or AIMS_TYPED
    found["to"] = [str(broker) for broker in goal.get("to") or []]
    found["away"] = ", ".join(map(str, goal.get("away") or []))
    found["rf"], found["instead"] = (str(goal.get(name, "")) for name in ("replication_factor", "instead"))
    found["leaders"] = bool(goal.get("leaders")) and found["goal"] != "leaders"
    return found


def says_all(row: Schedule) -> bool:
    """Whether the form can hold all that the schedule asks for: by REST a goal may say more."""
    try:
        return bool(scheduled.checked(row.kind, params_of(values_of(row))) == row.params)
    except Invalid:
        return False
