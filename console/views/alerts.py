"""Alerts: what fires, the rules, silences and destinations, each with the forms that change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console.actions import alerts as actions
from console.alert_preview import preview
from console.alert_values import (
    alerts_of,
    destination_or_fail,
    destinations_of,
    rule_or_fail,
    rules_of,
    silence_or_fail,
    silences_of,
)
from console.clock import now_ms
from console.errors import Invalid
from console.models import Alert, AlertRule
from console.roles import ADMIN, OPERATOR, actor_of
from console.rules.alerts.destinations import KINDS, REPORTS, SECURITY
from console.rules.alerts.figures import COMPARISONS, FIGURES, SEVERITIES, Condition, checked
from console.rules.alerts.standing import GAP_MS
from console.views.support import KNOWN, ask_first, done, explain, is_confirmed, page, refused, show

PREVIEWED = ("figure", "comparison", "threshold", "for_s")
UNNAMED = {"name": "preview", "sentence": "preview", "severity": "notice"}
SILENCES = ((60, "1 hour"), (240, "4 hours"), (1440, "1 day"), (10_080, "1 week"))


@page()
def alerts(request: Any) -> HttpResponse:
    return show(request, "alerts", _context(request))


def _context(request: Any) -> dict[str, Any]:
    found, more = alerts_of(request.cluster)
    rules = rules_of(request.cluster)
    looked_at_ms = max((rule.looked_at_ms for rule in rules if rule.is_on and rule.looked_at_ms is not None), default=None)
    return {
        "firing": [row for row in found if row.state == Alert.FIRING],
        "pending": [row for row in found if row.state == Alert.PENDING],
        "over": [row for row in found if row.state == Alert.OVER],
        "more": more,
        "unknown": [rule for rule in rules if rule.is_on and rule.unknown_count],
        "looked_at_ms": looked_at_ms,
        "is_old": looked_at_ms is not None and now_ms() - looked_at_ms > GAP_MS,
        "all_off": bool(rules) and not any(rule.is_on for rule in rules),
        "rules": rules,
        "silences": silences_of(request.cluster),
        "destinations": destinations_of(),
        "kinds": KINDS.items(),
        "security": SECURITY.items(),
        "reports": REPORTS.items(),
        "lasts": SILENCES,
        "figures": [(name, f"{figure.scope}: {figure.text}") for name, figure in FIGURES.items()],
        "comparisons": list(COMPARISONS),
        "severities": SEVERITIES,
    }


def _back(request: Any, said: str) -> HttpResponse:
    return done(request, reverse("alerts"), said)


def _try(request: Any, act: Callable[[], object], said: str) -> HttpResponse:
    try:
        act()
    except KNOWN as error:
        status, shown = explain(error)
        return show(request, "alerts", {**_context(request), "form_error": shown}, status)
    return _back(request, said)


@page("POST", role=ADMIN, doing="make alert rule")
def alert_rule_new(request: Any) -> HttpResponse:
    try:
        asked = {part: request.POST.get(part, "") for part in actions.PARTS}
        unless = request.POST.get("unless", "")
        made = actions.create_rule(actor_of(request), request.cluster, asked, _rule(request, "unless") if unless else None)
    except KNOWN as error:
        return refused(request, "alerts", _context(request), error, "rule")
    return _back(request, f"{made.name} is kept, and looked at from now on.")


@page("GET", "HEAD", "POST", role=ADMIN, doing="change alert rule")
def alert_rule_change(request: Any, rule_id: int) -> HttpResponse:
    """The form with the rule as it is; one that somebody changed since it was shown is not written over."""
    rule = rule_or_fail(request.cluster, rule_id)
    if request.method != "POST":
        actor_of(request).require(ADMIN, "changing a rule of alerts")
        values = {part: getattr(rule, part) for part in actions.PARTS}
        shown = {"threshold": f"{rule.threshold:g}", "unless": str(rule.unless_id or ""), "": "rule"}
        return show(request, "alert_rule", {**_rule_form(request, rule), "typed": {**values, **shown}})
    try:
        asked = {part: request.POST.get(part, "") for part in actions.PARTS}
        unless = _rule(request, "unless") if request.POST.get("unless") else None
        actions.change_rule(actor_of(request), rule, asked, unless, seen=request.POST.get("seen", ""))
    except KNOWN as error:
        return refused(request, "alert_rule", _rule_form(request, rule), error, "rule")
    return _back(request, f"{asked['name']} is changed.")


def _rule_form(request: Any, rule: AlertRule) -> dict[str, Any]:
    return {**_context(request), "changing": rule, "seen": actions.seen_of(rule)}


@page(query=("figure", "comparison", "threshold", "for_s"))
def alert_rule_preview(request: Any) -> HttpResponse:
    """When the rule of the form would have fired, as far as the history tells; nothing is kept."""
    try:
        parts = checked({part: request.GET.get(part, "") for part in PREVIEWED} | UNNAMED)
        condition = Condition(*(parts[part] for part in PREVIEWED))
        return show(request, "alert_preview", {"preview": preview(request.cluster, condition, now_ms())})
    except KNOWN as error:
        return show(request, "alert_preview", {"why_not": explain(error)[1]["detail"]})


def _rule(request: Any, field: str) -> AlertRule:
    text = request.POST.get(field, "")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise Invalid(field, "Choose one of the rules.")
    return rule_or_fail(request.cluster, int(text))


@page("POST", role=ADMIN, doing="switch alert rule")
def alert_rule_switch(request: Any, rule_id: int) -> HttpResponse:
    """`on=1` switches it on, anything else off."""
    rule, is_on = rule_or_fail(request.cluster, rule_id), request.POST.get("on") == "1"
    said = f"{rule.name} is on." if is_on else f"{rule.name} is off: nobody looks at it, and nobody is told."
    return _try(request, lambda: actions.switch_rule(actor_of(request), rule, is_on=is_on), said)


@page("POST", role=ADMIN, doing="delete alert rule")
def alert_rule_delete(request: Any, rule_id: int) -> HttpResponse:
    rule = rule_or_fail(request.cluster, rule_id)
    if not is_confirmed(request):
        risks = ["Its alerts and its silences go with it. Switched off, it keeps both."]
        return ask_first(request, f"Delete {rule.name}?", risks, button="Delete it", back=reverse("alerts"))
    return _try(request, lambda: actions.delete_rule(actor_of(request), rule), f"{rule.name} is deleted.")


@page("POST", role=OPERATOR, doing="silence alerts")
def alert_silence_new(request: Any) -> HttpResponse:
    minutes = request.POST.get("minutes", "")
    try:
        rule = _rule(request, "rule") if request.POST.get("rule") else None
        made = actions.silence(
            actor_of(request),
            request.cluster,
            rule=rule,
            target=request.POST.get("target", ""),
            minutes=int(minutes) if minutes.isascii() and minutes.isdigit() and len(minutes) < 8 else 0,
            why=request.POST.get("why", ""),
        )
    except KNOWN as error:
        return refused(request, "alerts", _context(request), error, "silence")
    return _back(request, f"Nobody is told until {made.until:%d %b %H:%M} UTC.")


@page("POST", role=OPERATOR, doing="end silence")
def alert_silence_end(request: Any, silence_id: int) -> HttpResponse:
    row = silence_or_fail(request.cluster, silence_id)
    return _try(request, lambda: actions.end_silence(actor_of(request), row), "The silence is over: what fires is told.")


@page("POST", role=ADMIN, doing="add destination of alerts")
def alert_destination_new(request: Any) -> HttpResponse:
    given = {name: value for name, value in request.POST.dict().items() if isinstance(value, str)}
    try:
        made = actions.add_destination(actor_of(request), given)
    except KNOWN as error:
        answer = _context(request)
        for secret in actions.SECRETS:
            given[secret] = ""
        status, shown = explain(error)
        context = {**answer, "form_error": {**shown, "form": "destination"}, "typed": {**given, "": "destination"}}
        return show(request, "alerts", context, status)
    return _back(request, f"{made.name} is kept: send a test there.")


@page("GET", "HEAD", "POST", role=ADMIN, doing="change destination of alerts")
def alert_destination_change(request: Any, destination_id: int) -> HttpResponse:
    """The form with what may be shown of it; what somebody changed since it was shown is not written over."""
    row = destination_or_fail(destination_id)
    form = {**_context(request), "changing": row, "kind_words": KINDS[row.kind], "seen": actions.seen_of_destination(row)}
    if request.method != "POST":
        actor_of(request).require(ADMIN, "changing a destination of alerts")
        values = {**row.settings, "to": ", ".join(row.settings.get("to", [])), "name": row.name, "": "destination"}
        return show(request, "alert_destination", {**form, "typed": values})
    given = {name: value for name, value in request.POST.dict().items() if isinstance(value, str)}
    try:
        actions.change_destination(actor_of(request), row, given)
    except KNOWN as error:
        kept = {name: value for name, value in given.items() if name not in actions.SECRETS}
        status, shown = explain(error)
        context = {**form, "form_error": {**shown, "form": "destination"}, "typed": {**kept, "": "destination"}}
        return show(request, "alert_destination", context, status)
    return _back(request, f"{given['name']} is changed: send a test there.")


@page("POST", role=ADMIN, doing="switch destination of alerts")
def alert_destination_switch(request: Any, destination_id: int) -> HttpResponse:
    """`on=1` switches it on, anything else off."""
    row, is_on = destination_or_fail(destination_id), request.POST.get("on") == "1"
    said = f"{row.name} is {'on' if is_on else 'off: nothing is told there'}."
    return _try(request, lambda: actions.switch_destination(actor_of(request), row, is_on=is_on), said)


@page("POST", role=ADMIN, doing="test destination of alerts")
def alert_destination_test(request: Any, destination_id: int) -> HttpResponse:
    row = destination_or_fail(destination_id)
    said = f"A test is on its way to {row.name}: what becomes of it stands there in a few seconds."
    return _try(request, lambda: actions.test_destination(actor_of(request), row, request.cluster), said)


@page("POST", role=ADMIN, doing="remove destination of alerts")
def alert_destination_remove(request: Any, destination_id: int) -> HttpResponse:
    row = destination_or_fail(destination_id)
    if not is_confirmed(request):
        risks = ["Nothing is told there any more, of no cluster; what waits to be sent there is not sent. Its secrets are forgotten."]
        return ask_first(request, f"Remove {row.name}?", risks, button="Remove it", back=reverse("alerts"))
    return _try(request, lambda: actions.remove_destination(actor_of(request), row), f"{row.name} is removed.")
