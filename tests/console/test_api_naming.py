"""Names in the description of REST: functions and classes of whatever is generated from it."""

from __future__ import annotations

import keyword
import re

import pytest

from console.api.naming import operation_name, renamed, shape_names
from tests.support.openapi import document

LISTS = {"list_topics", "list_topic_partitions"}


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("get", "/clusters/{cluster_id}/topics", "list_topics"),
        ("post", "/clusters/{cluster_id}/topics", "create_topic"),
        ("get", "/clusters/{cluster_id}/topics/{name}", "get_topic"),
        ("patch", "/clusters/{cluster_id}/topics/{name}/settings", "change_topic_settings"),
        ("get", "/clusters/{cluster_id}/topics/{name}/partitions", "list_topic_partitions"),
        ("post", "/clusters/{cluster_id}/topics/{name}/searches", "start_topic_search"),
        ("post", "/clusters/{cluster_id}/searches/{search_id}/stop", "stop_search"),
        ("post", "/clusters/{cluster_id}/groups/{group_id}/members/removal", "remove_group_members"),
        ("delete", "/clusters/{cluster_id}", "delete_cluster"),
        ("put", "/clusters/{cluster_id}/schema-registry", "set_schema_registry"),
    ],
)
def test_an_operation_is_called_by_what_it_does(method: str, path: str, name: str) -> None:
    assert operation_name(method, path, lists=name in LISTS) == name


def test_the_description_has_names_for_functions_and_classes() -> None:
    operations = [operation["operationId"] for found in document()["paths"].values() for operation in found.values()]
    assert len(set(operations)) == len(operations)
    for name in operations:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", name) and not keyword.iskeyword(name), name
    for name, shape in document()["components"]["schemas"].items():
        assert re.fullmatch(r"[A-Z][A-Za-z0-9]+", name), name
        assert shape.get("title", name) == name, "what is generated has a class by each title"


def test_types_of_one_name_are_told_apart_by_their_modules() -> None:
    names = shape_names(["Topic", "Listed_Topic_", "console.planning.model.Move", "console.actions.offset_moves.Move"])
    assert list(names.values()) == ["Topic", "ListedTopic", "ModelMove", "OffsetMovesMove"]
    shape = {"anyOf": [{"$ref": "#/s/Listed_Topic_"}, {"type": "null"}]}
    assert renamed(shape, names, "#/s/") == {"anyOf": [{"$ref": "#/s/ListedTopic"}, {"type": "null"}]}


def test_examples_of_a_parameter_stand_where_openapi_has_them() -> None:
    for found in document()["paths"].values():
        for operation in found.values():
            for parameter in operation.get("parameters", ()):
                assert isinstance(parameter.get("examples", {}), dict), parameter["name"]
