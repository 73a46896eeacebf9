"""The OpenAPI description: what each route takes and answers, and with which problems (`/api/v1/openapi.json`).

A route says its answers by `answers`. They describe and do not check: a figure that becomes null at night must not make an answer fail.
That all answers are as described is checked where tests ask (`tests/support/openapi.py`). What is asked for is checked: a name in the
query that a route does not have is refused, since a list that leaves a misspelt filter out answers another question.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast, get_args, get_type_hints

import msgspec
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from msgspec import Struct
from ninja import NinjaAPI, Router
from ninja.openapi.schema import OpenAPISchema
from ninja.renderers import BaseRenderer

from console.api.answers import Listed, Problem
from console.api.examples import put_examples
from console.api.naming import operation_name, renamed, shape_names
from console.api.once import HEADER, begin
from console.queries import BadQuery
from console.roles import VIEWER
from console.rules.problems import KINDS

View = TypeVar("View", bound=Callable[..., Any])


class File(NamedTuple):
    """An answer that is no JSON: which media types it may have."""

    media: tuple[str, ...]


class Events(NamedTuple):
    """An answer without an end: server-sent events. By their names what each has for its data and when it comes; `examples` makes some of
    what is read, by what they show."""

    known: Mapping[str, tuple[type[Struct], str]]
    examples: Callable[[], Mapping[str, str]]

    def models(self) -> list[type[Struct]]:
        return [data for data, _ in self.known.values()]


Body = type[Struct] | File | Events
Answers = Mapping[int, Body | None]
NAME_CHARS_LIMIT = 60
"""Of a name that is repeated to whoever sent it."""
ROOT = "/api/v1"
SHAPES = "#/components/schemas/"
REFS = SHAPES + "{name}"
PROBLEMS = {
    400: "The body is not JSON; or a name or value of the query is none that can be asked for: `field` names the parameter.",
    401: "No token, or one that is not valid.",
    403: "The token's role may not do this.",
    404: "What the path names is not there.",
    409: "Something is in the way: a name that is taken, a job or a deletion that is under way, a group with members.",
    412: "`If-Match` names another state than the present one.",
    413: "The body is larger than 1 MB, or what it asks for is larger than the cluster takes.",
    422: "Something in the request is wrong: `field` names it; or the cluster refused, in the broker's words with its code.",
    429: "The cluster's quota is used up.",
    500: "The console met an error of its own.",
    502: "The cluster met an error of its own.",
    503: "The cluster, the live snapshot or the database does not answer; the same request may succeed later.",
}
CHANGES_ONLY = (409, 412, 413)
"""Problems of requests that change something."""


class Renderer(BaseRenderer):
    """Answers are structs, and what the database and the cluster gave as it is."""

    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return msgspec.json.encode(data)


def answers(model: Body | None = None, /, **by_status: type[Struct] | None) -> Callable[[View], View]:
    """What a route answers with 200, or with other statuses: `answers(s201=Topic)`; None is an answer without a body."""
    found: Answers = {200: model} if model else {int(name[1:]): one for name, one in by_status.items()}

    def note(view: View) -> View:
        view.answers = found  # type: ignore[attr-defined]
        return view

    return note


class Described(NinjaAPI):
    """The routes' own description, with the answers' shapes and problems put in; each refuses query parameters that it does not have.
    An answer has all fields of its type; only a problem leaves some out."""

    def add_router(self, prefix: str, router: Router | str, **options: Any) -> None:
        super().add_router(prefix, router, **options)
        for operation in _operations_of(self._routers[-1][1]):
            operation.view_func = _only(_query_names(operation), _once(operation.view_func))

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        found = super().get_openapi_schema(**options)
        views = {self.get_openapi_operation_id(op): op.view_func for op in self._operations() if op.include_in_schema}
        for_roles = {self.get_openapi_operation_id(op) for op in self._operations() if _needs_role(op) or hasattr(op.view_func, "hides")}
        models = list(dict.fromkeys(model for view in views.values() for answer in view.answers.values() for model in _models(answer)))
        for shape in found["components"]["schemas"].values():
            _take_field_titles(shape)
        shapes, definitions = _shapes(models)
        found["components"]["schemas"] |= definitions
        for path, operations in found["paths"].items():
            for method, operation in operations.items():
                view = views[operation["operationId"]]
                _put_examples_right(operation.setdefault("parameters", []))
                _put_words(operation["parameters"], view)
                operation["parameters"].extend(_headers(method, view))
                operation["responses"] = dict(_answers(view.answers, shapes)) | dict(
                    _problems(method, path, shapes[Problem], operation["operationId"] in for_roles, getattr(view, "says", {}))
                )
                operation["operationId"] = operation_name(method, path.removeprefix(ROOT), lists=_is_list(view.answers))
        put_examples(found)
        return found

    def _operations(self) -> Iterator[Any]:
        for _, router in self._routers:
            yield from _operations_of(router)


def _shapes(models: Sequence[type[Struct]]) -> tuple[dict[type[Struct], Any], dict[str, Any]]:
    """By type where its shape is, and the shapes by their names. All fields are there, but of a problem."""
    places, definitions = msgspec.json.schema_components(models, ref_template=REFS)
    for shape in definitions.values():
        shape["required"] = list(shape["properties"])
    (problem,), of_problem = msgspec.json.schema_components([Problem], ref_template=REFS)
    definitions |= of_problem
    names = shape_names(definitions)
    found = {names[name]: renamed(shape, names, SHAPES) | {"title": names[name]} for name, shape in definitions.items()}
    return {**dict(zip(models, renamed(list(places), names, SHAPES), strict=True)), Problem: problem}, found


def _take_field_titles(shape: Mapping[str, Any]) -> None:
    """Pydantic gives a field its own name as title, by which programs would have a class that many shapes share."""
    for field in shape.get("properties", {}).values():
        field.pop("title", None)


def _put_examples_right(parameters: Sequence[dict[str, Any]]) -> None:
    """Ninja gives a parameter its schema's list of examples; OpenAPI has there a map, and a list in the schema."""
    for one in parameters:
        if isinstance(one.get("examples"), list):
            one["schema"]["examples"] = one.pop("examples")


def _put_words(parameters: Sequence[dict[str, Any]], view: Any) -> None:
    """Ninja drops what an argument's annotation says of it, where it is one of the function's own."""
    for name, hint in get_type_hints(view, include_extras=True).items():
        noted = [note for one in (hint, *get_args(hint)) for note in getattr(one, "__metadata__", ())]
        words = next((note.description for note in noted if getattr(note, "description", None)), None)
        for one in parameters if words else ():
            if one["name"] == name:
                one["description"] = words


def _models(answer: Body | None) -> Sequence[type[Struct]]:
    """The shapes of what it is made of."""
    if isinstance(answer, Events):
        return answer.models()
    return [] if answer is None or isinstance(answer, File) else [answer]


def _is_list(found: Answers) -> bool:
    shapes = (model for answer in found.values() for model in _models(answer))
    return any(issubclass(getattr(model, "__origin__", model), Listed) for model in shapes)


def _operations_of(router: Router) -> Iterator[Any]:
    for path in router.path_operations.values():
        yield from path.operations


def _query_names(operation: Any) -> list[str]:
    return [name for model in operation.models if model.__ninja_param_source__ == "query" for name in model.__ninja_flatten_map__]


def _only(known: Sequence[str], view: View) -> View:
    """The route with those names in its query. Asked after token, role and the values of what is known."""

    @functools.wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        unknown = next((name for name in request.GET if name not in known), None)
        if unknown is not None:
            takes = f"parameters in the query are {', '.join(known)}" if known else "it takes no parameters in the query"
            raise BadQuery(unknown[:NAME_CHARS_LIMIT], f"{unknown[:NAME_CHARS_LIMIT]!r} is nothing that this can be asked for: {takes}.")
        return view(request, *args, **kwargs)

    return cast(View, checked)


def large(bytes_max: int) -> Callable[[View], View]:
    """A route that reads its body by itself (`request.body`), of up to so many bytes."""

    def note(view: View) -> View:
        view.bytes_max = bytes_max  # type: ignore[attr-defined]
        return view

    return note


def _once(view: View) -> View:
    bytes_max = getattr(view, "bytes_max", None)

    @functools.wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if bytes_max is not None:
            _take_body(request, bytes_max)
        begin(request)
        return view(request, *args, **kwargs)

    return cast(View, checked)


def _take_body(request: Any, bytes_max: int) -> None:
    """Where Django's own limit, which is that of all other routes, is too small."""
    request._body = request.read(bytes_max + 1)
    if len(request._body) > bytes_max:
        raise RequestDataTooBig


def _headers(method: str, view: Any) -> Iterator[dict[str, Any]]:
    """What of the request's headers is looked at, beside the token."""
    if method != "get":
        words = "What was done for a key is not done again for 24 h, but answered as it was (answers of up to 256 KiB). A random one each."
        yield _header(HEADER, words, {"type": "string", "pattern": "^[!-~]{1,200}$"})
    if getattr(view, "matches", False):
        yield _header("If-Match", "The ETag that was read: 412 where the settings are others now.", {"type": "string"})
    if any(isinstance(answer, Events) for answer in view.answers.values()):
        yield _header("Last-Event-ID", "The id of the last event that was read, of whoever comes back.", {"type": "string"})


def _header(name: str, words: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"in": "header", "name": name, "required": False, "description": words, "schema": schema}


def hiding(view: View) -> View:
    """Marks a route that any token may ask, and that refuses what is hidden from its role."""
    view.hides = True  # type: ignore[attr-defined]
    return view


def saying(**by_status: str) -> Callable[[View], View]:
    """Marks a route which says by itself what a problem's status means of it: `saying(s429="Too many listen.")`."""

    def note(view: View) -> View:
        view.says = {int(name[1:]): words for name, words in by_status.items()}  # type: ignore[attr-defined]
        return view

    return note


def matching(view: View) -> View:
    """Marks a route that looks at `If-Match`."""
    view.matches = True  # type: ignore[attr-defined]
    return view


def _answers(found: Answers, shapes: Mapping[type[Struct], Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    for status, model in found.items():
        if isinstance(model, File):
            content: dict[str, Any] = {media: {"schema": {"type": "string", "format": "binary"}} for media in model.media}
        elif isinstance(model, Events):
            content = {"text/event-stream": _events(model, shapes)}
        else:
            content = {"application/json": {"schema": shapes[model]}} if model else {}
        said = "Done; no body." if model is None else "OK" if status == 200 else "Taken."
        if isinstance(model, Events):
            said = "Events without an end. " + " ".join(f"`{name}`: {words}." for name, (_, words) in model.known.items())
        yield status, {"description": said, **({"content": content} if content else {})}


def _events(found: Events, shapes: Mapping[type[Struct], Any]) -> dict[str, Any]:
    """OpenAPI 3.1 has no word for what an event's data are: an extension tells it."""
    return {
        "schema": {"type": "string"},
        "x-events": {name: shapes[data] for name, (data, _) in found.known.items()},
        "examples": {name: {"value": text} for name, text in found.examples().items()},
    }


def _needs_role(operation: Any) -> bool:
    return any(getattr(auth, "role", VIEWER) != VIEWER for auth in operation.auth_callbacks)


def _problems(method: str, path: str, shape: Any, needs_role: bool, own_words: dict[int, str]) -> Iterator[tuple[int, dict[str, Any]]]:
    for status, words in (PROBLEMS | own_words).items():
        reads = method == "get"
        if reads and (status in CHANGES_ONLY or (status == 404 and "{" not in path)):
            continue
        if status == 403 and not needs_role:
            continue
        codes = ", ".join(f"`{kind.code}`" for kind in KINDS.values() if kind.status == status)
        yield status, {"description": f"{words} Codes: {codes}.", "content": {"application/problem+json": {"schema": shape}}}
