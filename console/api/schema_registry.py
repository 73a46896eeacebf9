"""A cluster's schema registry."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpResponse
from msgspec import Struct
from ninja import Path, Router
from pydantic import Field

from console import queries
from console.actions.schema_registry import read_schema, registry_row, remove_registry, set_registry, test_registry
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.shapes import Strict, example
from console.models import SchemaRegistry as Row
from console.queries import NotFound
from console.roles import ADMIN
from console.rules.records.schemas import Kind

router = Router(tags=["records"])
ONE = "/clusters/{cluster_id}/schema-registry"


class SchemaRegistry(Struct):
    """Records whose keys or values name a schema of it are shown decoded. The password is never told."""

    url: str
    username: str
    has_password: bool
    ca_pem: str
    set_by: str


class RegistryTrial(Struct):
    ok: bool
    sentence: str


class SchemaRegistrySet(Strict):
    """What is left out stays; the password must come along where it would be given to another server."""

    model_config = example(url="https://registry.example.org:8081", username="reader", password="secret")

    url: Annotated[str, Field(max_length=500)]
    username: Annotated[str, Field(max_length=255)] = ""
    password: Annotated[str, Field(max_length=1000)] = ""
    ca_pem: Annotated[str, Field(max_length=50_000)] = ""


class NamedText(Struct):
    name: str
    text: str


class SubjectVersion(Struct):
    subject: str
    version: int


class SchemaText(Struct):
    """`references` has each text that it refers to, those before which others need."""

    id: int
    type: Kind
    text: str
    references: list[NamedText]
    subjects: list[SubjectVersion]


def _value(row: Row) -> SchemaRegistry:
    return SchemaRegistry(row.url, row.username, bool(row.secrets), row.ca_pem, row.set_by)


@router.get(ONE, auth=Bearer(ADMIN, "read the schema registry's address"))
@answers(SchemaRegistry)
def registry(request: Any, cluster_id: str) -> SchemaRegistry:
    row = registry_row(queries.cluster_of(cluster_id))
    if row is None:
        raise NotFound(f"No schema registry is set for {cluster_id}.")
    return _value(row)


@router.put(ONE, auth=Bearer(ADMIN, "set schema registry"))
@answers(SchemaRegistry)
def put(request: Any, cluster_id: str, payload: SchemaRegistrySet) -> SchemaRegistry:
    return _value(set_registry(request.auth, queries.cluster_of(cluster_id), payload.dict(exclude_unset=True)))


@router.post(ONE + "/test", auth=Bearer(ADMIN, "test schema registry"))
@answers(RegistryTrial)
def trial(request: Any, cluster_id: str, payload: SchemaRegistrySet) -> RegistryTrial:
    """Asks it and sets nothing; takes up to 4 s. That it fails is an answer, too: `ok` is false."""
    return RegistryTrial(*test_registry(request.auth, queries.cluster_of(cluster_id), payload.dict(exclude_unset=True)))


@router.delete(ONE, auth=Bearer(ADMIN, "remove schema registry"), response={204: None})
@answers(s204=None)
def remove(request: Any, cluster_id: str) -> HttpResponse:
    remove_registry(request.auth, queries.cluster_of(cluster_id))
    return HttpResponse(status=204)


@router.get("/clusters/{cluster_id}/schemas/{number}")
@answers(SchemaText)
def schema(request: Any, cluster_id: str, number: Annotated[int, Path(ge=0, lt=2**31)]) -> SchemaText:
    """As the schema registry has it now."""
    _, found = read_schema(queries.cluster_of(cluster_id), number)
    references = [NamedText(*one) for one in found.references]
    return SchemaText(found.id, found.type, found.text, references, [SubjectVersion(*one) for one in found.subjects])
