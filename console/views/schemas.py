"""A cluster's schema registry as admins set it, and a schema of it as whoever may read records sees it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console.actions.schema_registry import read_schema, registry_row, remove_registry, set_registry, test_registry
from console.errors import Invalid
from console.roles import ADMIN, actor_of
from console.rules.records.schemas import FIELDS, shown_text
from console.views.support import KNOWN, ask_first, done, is_confirmed, page, refused, show

OPEN = ("url", "username", "ca_pem")
FORM = "registry"
SUBJECTS_MAX = 50
KIND_WORDS = {"AVRO": "Avro", "PROTOBUF": "Protobuf", "JSON": "JSON Schema"}


@page("GET", "HEAD", "POST", role=ADMIN, doing="set schema registry")
def schema_registry(request: Any) -> HttpResponse:
    """`test=1` asks it and sets nothing."""
    actor = actor_of(request)
    actor.require(ADMIN, "reading the schema registry's address")
    row = registry_row(request.cluster)
    context = {"row": row, "fields": FIELDS}
    if request.method != "POST":
        return show(request, "schema_registry", context)
    try:
        if request.POST.get("test") == "1":
            ok, said = test_registry(actor, request.cluster, _given(request))
            typed = {**{name: request.POST.get(name, "") for name in OPEN}, "": FORM}
            return show(request, "schema_registry", {**context, "tried": {"ok": ok, "sentence": said}, "typed": typed})
        made = set_registry(actor, request.cluster, _given(request))
    except KNOWN as error:
        return refused(request, "schema_registry", context, error, FORM)
    return done(request, reverse("schema_registry"), f"Records that name a schema of {made.url} are shown decoded from now on.")


@page("POST", role=ADMIN, doing="remove schema registry")
def schema_registry_remove(request: Any) -> HttpResponse:
    if not is_confirmed(request):
        risk = "Records in its formats are shown as bytes again, and the password is forgotten. The registry itself is not touched."
        return ask_first(request, "Take the schema registry away?", [risk], button="Take it away", back=reverse("schema_registry"))
    remove_registry(actor_of(request), request.cluster)
    return done(request, reverse("schema_registry"), "No schema registry is set any more.")


@page()
def schema(request: Any, number: int) -> HttpResponse:
    """As the registry has it now, with what it refers to."""
    url, found = read_schema(request.cluster, number)
    texts = [("Schema", shown_text(found.type, found.text)), *((name, shown_text(found.type, text)) for name, text in found.references)]
    kind = KIND_WORDS[found.type]
    context = {"schema": found, "url": url, "kind": kind, "texts": texts, "subjects": found.subjects[:SUBJECTS_MAX], "most": SUBJECTS_MAX}
    return show(request, "schema", context)


def _given(request: Any) -> dict[str, str]:
    """A password that is left empty stays as it is, unless there is no user any more."""
    given = {name: request.POST.get(name, "").strip() for name in OPEN}
    password = request.POST.get("password", "")
    if password and not given["username"]:
        raise Invalid("username", "Whose password is it? Enter the user, or leave both empty.")
    return {**given, "password": password} if password or not given["username"] else given
