"""The console's own settings as one form: search, units, one save that shows the difference first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.actions.console_settings import change_own_settings, own_settings, preview_own_settings, wrong_values
from console.errors import Invalid, Outdated
from console.models import AuditEntry
from console.roles import ADMIN, actor_of
from console.rules.settings.changes import moved_meanwhile, typed_changes
from console.rules.settings.model import etag
from console.rules.words import counted
from console.views.settings_form import asked_of, typed_of
from console.views.settings_rows import Typed, fits, row_of
from console.views.support import done, page

TEXT_MAX = 100
LAST_CHANGES = 5


class Owner(NamedTuple):
    """As the form of a topic's settings has one."""

    kind: str = "console"
    words: str = "the console"


@page("GET", "HEAD", "POST", role=ADMIN, doing="change console settings", query=("q",), of_console=True)
def console_settings(request: Any) -> HttpResponse:
    if request.method != "POST":
        return _form(request, Typed())
    if "save" in request.POST:
        return _save(request)
    if "edit" in request.POST:
        return _form(request, _again(asked_of(request)))
    found, settings = typed_of(request), own_settings()
    changes, wrong = typed_changes(settings, found.values, found.was, found.unset)
    wrong |= wrong_values(changes)
    if wrong:
        return _form(request, found, wrong)
    if not changes:
        return _form(request, found, {"": "Nothing differs from what is set: change something first."})
    return _review(request, changes, moved_meanwhile(settings, found.was))


def _save(request: Any) -> HttpResponse:
    changes = asked_of(request)
    try:
        change_own_settings(actor_of(request), changes, seen=request.POST.get("seen", ""))
    except Outdated as error:
        return _review(request, changes, [f"{error} This is the difference to what is set now."])
    except Invalid as error:
        return _form(request, _again(changes), {error.field.removeprefix("configs."): error.detail})
    return done(request, reverse("console_settings"), f"{counted(len(changes), 'setting')} of the console saved.")


def _review(request: Any, changes: Mapping[str, str | None], notes: list[str]) -> HttpResponse:
    try:
        preview = preview_own_settings(changes)
    except Invalid as error:
        return _form(request, _again(changes), {error.field.removeprefix("configs."): error.detail})
    again = [(f"set:{name}", value) for name, value in changes.items() if value is not None]
    reset = [name for name, value in changes.items() if value is None]
    context = {"owner": Owner(), "preview": preview, "again": again, "reset": reset, "notes": notes, "url": reverse("console_settings")}
    return render(request, "settings_review.html", context)


def _again(changes: Mapping[str, str | None]) -> Typed:
    values = {name: value for name, value in changes.items() if value is not None}
    return Typed(values, {}, frozenset(name for name, value in changes.items() if value is None))


def _form(request: Any, found: Typed, wrong: Mapping[str, str] | None = None) -> HttpResponse:
    """What was typed stays, and what is wrong stands at its field."""
    settings, errors = own_settings(), wrong or {}
    text = request.GET.get("q", "")[:TEXT_MAX] if request.method == "GET" else ""
    may = actor_of(request).may(ADMIN)
    rows = [row_of(one, found, errors, may) for one in settings if not text or fits(one, text)]
    parts = (
        ("wrong", "Not right yet", [row for row in rows if row.error]),
        ("own", "Set here", [row for row in rows if row.setting.is_own and not row.error]),
        ("live", "Taken at once", [row for row in rows if not row.setting.is_own and not row.setting.read_only and not row.error]),
        ("start", "Read at a start", [row for row in rows if row.setting.read_only and not row.error]),
    )
    context: dict[str, Any] = {
        "owner": Owner(),
        "groups": [part for part in parts if part[2]],
        "shown": len(rows),
        "total": len(settings),
        "q": text,
        "seen": etag(settings),
        "may": may,
        "past_changes": _last() if may and not found.values else [],
        "url": reverse("console_settings"),
        "back": reverse("settings"),
    }
    if errors:
        context["form_error"] = {"title": "Not saved", "detail": _said(errors, {row.setting.name for row in rows if row.is_editable})}
    return render(request, "settings_form.html", context, status=422 if errors else 200)


def _said(errors: Mapping[str, str], fields: Collection[str]) -> str:
    """Over the form: what has no field is said in words there."""
    told = [f"{counted(len(errors), 'setting')} cannot be so: it is said at each."] if errors.keys() & set(fields) else []
    return " ".join([*told, *(words for name, words in errors.items() if name not in fields)])


def _last() -> list[dict[str, AuditEntry]]:
    rows = AuditEntry.objects.filter(cluster="", action="change console settings", outcome="done").order_by("-id")
    return [{"entry": row} for row in rows[:LAST_CHANGES]]
