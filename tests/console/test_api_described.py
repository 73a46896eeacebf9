"""The description of REST has all that is served below /api/v1, and nothing else; and what an answer without an end is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern

from console.live.browser.stream import EVENTS
from tests.support.openapi import document
from tests.support.sse import SHAPES, check_event, parsed

ROOT = "api/v1/"
OWN = {"/api/v1/": "nothing: 404", "/api/v1/openapi.json": "the description"}
"""What is served and not described, with the reason."""


def served(resolver: URLResolver, before: str = "") -> Iterator[tuple[str, Any]]:
    """All addresses with what serves them; parameters as OpenAPI writes them."""
    for one in resolver.url_patterns:
        assert isinstance(one.pattern, RoutePattern), f"{before}{one.pattern} is no address that OpenAPI could have"
        address = before + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(one.pattern))
        if isinstance(one, URLResolver):
            yield from served(one, address)
        elif isinstance(one, URLPattern):
            yield f"/{address}", one.callback


def methods_of(view: Any) -> set[str]:
    """Those that a route of ninja takes."""
    (routes,) = {
        type(cell.cell_contents): cell.cell_contents for cell in view.__closure__ if hasattr(cell.cell_contents, "operations")
    }.values()
    return {method.lower() for operation in routes.operations for method in operation.methods}


def test_all_that_is_served_is_described_and_nothing_else() -> None:
    found = {address: view for address, view in served(get_resolver()) if address.startswith(f"/{ROOT}")}
    assert OWN.keys() <= found.keys() and len(found) > 60
    routes = {(method, address) for address, view in found.items() if address not in OWN for method in methods_of(view)}
    assert routes == {(method, path) for path, operations in document()["paths"].items() for method in operations}


def test_the_events_of_a_stream_are_described_with_examples() -> None:
    operation = document()["paths"]["/api/v1/clusters/{cluster_id}/stream"]["get"]
    told = operation["responses"][200]
    content = told["content"]["text/event-stream"]
    assert content["x-events"].keys() == EVENTS.keys()
    seen: set[str] = set()
    for name, example in content["examples"].items():
        first, *events = [block for block in example["value"].split("\n\n") if block]
        assert first.startswith("retry: "), name
        for block in events:
            event = parsed(block)
            assert event is not None, name
            seen.add(check_event(event)[0])
    assert seen == EVENTS.keys() and all(f"`{kind}`: " in told["description"] for kind in EVENTS)
    assert {one["name"] for one in operation["parameters"] if one["in"] == "header"} == {"Last-Event-ID"}
    assert "100 streams" in operation["responses"][429]["description"] and "10 of this token" in operation["responses"][429]["description"]
    assert [list(one) for one in operation["security"]] == [["Bearer"], ["Session"]]


def test_each_kind_of_value_in_a_stream_has_a_described_shape() -> None:
    words = document()["components"]["schemas"]["Snapshot"]["properties"]["values"]["description"]
    for kind in SHAPES:
        assert f"`{kind}" in words, kind


def test_what_an_argument_is_said_to_be_is_told() -> None:
    """Of arguments of the route's own, too, with null or without."""
    paths = document()["paths"]
    for path, name, words in (("stream", "topics", "topics with"), ("topology", "focus", "topic:orders"), ("changes", "from_ms", "Milli")):
        (found,) = [one for one in paths[f"/api/v1/clusters/{{cluster_id}}/{path}"]["get"]["parameters"] if one["name"] == name]
        assert found["description"].startswith(words)
