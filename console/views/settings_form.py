"""The settings of a topic, of a broker or of all brokers as one form: search, groups, one save that shows the difference first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console import queries
from console.actions.settings import (
    ROLES,
    Preview,
    change_settings,
    change_to_put_back,
    last_changes,
    preview_settings,
    read_settings,
)
from console.errors import Invalid, Outdated, Risky
from console.gateway.errors import GatewayError, WrongSettings
from console.gateway.refusals import sentence
from console.hosting import broker_or_fail
from console.roles import ADMIN, OPERATOR, actor_of
from console.rules.settings.changes import moved_meanwhile, typed_changes
from console.rules.settings.model import Owner, etag
from console.rules.words import counted
from console.snapshot.read import Snapshot
from console.views.settings_rows import Typed, fits, grouped, row_of
from console.views.support import done, explain, page

TEXT_MAX = 100


def _owner_url(owner: Owner) -> str:
    if owner.kind == "brokers":
        return reverse("broker_defaults")
    return reverse(f"{owner.kind}_settings", args=[owner.name])


def _back_url(owner: Owner) -> str:
    return reverse("brokers") if owner.kind == "brokers" else reverse(owner.kind, args=[owner.name])


def _form(request: Any, owner: Owner, typed: Typed, error: Exception | None = None, wrong: Mapping[str, str] | None = None) -> HttpResponse:
    """The form with what was typed; what is wrong stands at its field."""
    settings = read_settings(request.cluster, owner)
    may = actor_of(request).may(ROLES[owner.kind]) and not request.cluster.read_only
    text = request.GET.get("q", "")[:TEXT_MAX] if request.method == "GET" else ""
    errors = {**(wrong or {}), **_placed(error)}
    rows = [row_of(one, typed, errors, may) for one in settings if not text or fits(one, text)]
    status, shown = explain(error) if error else (422, {}) if errors else (200, {})
    if errors:
        places = {one.name for one in settings}
        said = [f"{counted(len(errors), 'setting')} cannot be so: it is said at each."] if errors.keys() & places else []
        said += [words for name, words in errors.items() if name not in places]
        shown = {"title": "Not saved", "detail": " ".join(said), "form": "settings"}
    return render(
        request,
        "settings_form.html",
        {
            "owner": owner,
            "groups": grouped(rows),
            "shown": len(rows),
            "total": len(settings),
            "q": text,
            "seen": etag(settings),
            "may": may,
            "past_changes": last_changes(request.cluster, owner) if may and not typed.values else [],
            "url": _owner_url(owner),
            "back": _back_url(owner),
            **({"form_error": shown} if shown else {}),
        },
        status=status,
    )


def _placed(error: Exception | None) -> dict[str, str]:
    """By setting."""
    if isinstance(error, WrongSettings):
        return {name: sentence(one) for name, one in error.errors.items()}
    if isinstance(error, Invalid) and error.field.startswith("configs."):
        return {error.field.removeprefix("configs."): error.detail}
    return {}


def typed_of(request: Any) -> Typed:
    """`v:NAME` is what a field has, `w:NAME` what it was; `unset` names what is to be reset."""
    found = request.POST.items()
    return Typed(
        {name[2:]: value.strip() for name, value in found if name.startswith("v:")},
        {name[2:]: value for name, value in request.POST.items() if name.startswith("w:")},
        frozenset(request.POST.getlist("unset")),
    )


def asked_of(request: Any) -> dict[str, str | None]:
    """What the page with the difference sends again: `set:NAME` and `reset`."""
    changes: dict[str, str | None] = dict.fromkeys(request.POST.getlist("reset"))
    return changes | {name[4:]: value.strip() for name, value in request.POST.items() if name.startswith("set:")}


def _review(
    request: Any, owner: Owner, changes: Mapping[str, str | None], preview: Preview, *, notes: Sequence[str] = (), wrong: str = ""
) -> HttpResponse:
    """What would change, before it does."""
    context = {
        "owner": owner,
        "preview": preview,
        "again": [(f"set:{name}", value) for name, value in changes.items() if value is not None],
        "reset": [name for name, value in changes.items() if value is None],
        "to_type": _to_type(owner) if preview.loses else "",
        "notes": notes,
        "wrong": wrong,
        "url": _owner_url(owner),
    }
    return render(request, "settings_review.html", context, status=422 if wrong else 200)


def _to_type(owner: Owner) -> str:
    return owner.name if owner.kind == "topic" else owner.words


def _show_difference(request: Any, owner: Owner, changes: Mapping[str, str | None], notes: Sequence[str] = ()) -> HttpResponse:
    try:
        preview = preview_settings(request.cluster, owner, changes)
    except (GatewayError, Invalid) as error:
        return _form(request, owner, _as_typed(request, changes), error)
    return _review(request, owner, changes, preview, notes=notes)


def _as_typed(request: Any, changes: Mapping[str, str | None]) -> Typed:
    typed = typed_of(request)
    values = {name: value for name, value in changes.items() if value is not None}
    return Typed({**values, **typed.values}, typed.was, typed.unset | {name for name, value in changes.items() if value is None})


def _take(request: Any, owner: Owner) -> HttpResponse:
    """What the form asks for, as a difference."""
    typed, settings = typed_of(request), read_settings(request.cluster, owner)
    changes, wrong = typed_changes(settings, typed.values, typed.was, typed.unset)
    if unknown := next((name for name in typed.values if name not in {one.name for one in settings}), None):
        wrong[unknown] = f"There is no setting {unknown[:100]!r}."
    if wrong:
        return _form(request, owner, typed, wrong=wrong)
    if not changes:
        return _form(request, owner, typed, Invalid("", "Nothing differs from what is set: change something first."))
    return _show_difference(request, owner, changes, moved_meanwhile(settings, typed.was))


def _save(request: Any, owner: Owner) -> HttpResponse:
    changes, seen = asked_of(request), request.POST.get("seen")
    is_told, is_typed = request.POST.get("risks") == "taken", request.POST.get("confirm", "").strip() == _to_type(owner)
    try:
        if is_told and not is_typed and (preview := preview_settings(request.cluster, owner, changes)).loses:
            return _review(request, owner, changes, preview, wrong=f"Type {_to_type(owner)} to save what can lose records.")
        change_settings(actor_of(request), request.cluster, owner, changes, seen=[seen] if seen else [], confirm=is_told)
    except Outdated:
        note = "Somebody changed these settings meanwhile: nothing was saved. This is the difference to what is set now."
        return _show_difference(request, owner, changes, [note])
    except Risky:
        return _show_difference(request, owner, changes)
    except (GatewayError, Invalid) as error:
        return _form(request, owner, _as_typed(request, changes), error)
    return done(request, _owner_url(owner), f"{counted(len(changes), 'setting')} of {owner.words} saved. It can be put back below.")


def _answer(request: Any, owner: Owner) -> HttpResponse:
    if request.method != "POST":
        return _form(request, owner, Typed())
    if "save" in request.POST:
        return _save(request, owner)
    if "edit" in request.POST:
        return _form(request, owner, _as_typed(request, asked_of(request)))
    if "put_back" in request.POST:
        number = request.POST["put_back"]
        entry = int(number) if number.isascii() and number.isdigit() and len(number) < 16 else 0
        return _show_difference(request, owner, change_to_put_back(request.cluster, owner, entry))
    return _take(request, owner)


@page("GET", "HEAD", "POST", role=OPERATOR, doing="change topic settings", query=("q",))
def topic_settings(request: Any, name: str) -> HttpResponse:
    if request.method != "POST":
        queries.topic_or_fail(Snapshot(request.cluster.snapshot_id), name)
    return _answer(request, Owner("topic", name))


@page("GET", "HEAD", "POST", role=ADMIN, doing="change broker settings", query=("q",))
def broker_settings(request: Any, broker_id: int) -> HttpResponse:
    broker_or_fail(Snapshot(request.cluster.snapshot_id), broker_id)
    return _answer(request, Owner("broker", str(broker_id)))


@page("GET", "HEAD", "POST", role=ADMIN, doing="change brokers' defaults", query=("q",))
def broker_defaults(request: Any) -> HttpResponse:
    return _answer(request, Owner("brokers"))
