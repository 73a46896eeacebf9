"""Which tests name which rows, read from the syntax trees of the test files: nothing is imported, so it takes a second or two."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.specification.document import ROOT


class Mark(NamedTuple):
    """One id of one `spec` marker. `test` is as pytest takes it: `FILE`, `FILE::function` or `FILE::Class::function`."""

    row: str
    test: str
    line: int


def marks() -> list[Mark]:
    """All marks of all test files, in the files' order."""
    return [mark for path in sorted((ROOT / "tests").rglob("test_*.py")) for mark in marks_of(path)]


def marks_of(path: Path) -> Iterator[Mark]:
    """`pytestmark` counts for the file, a decorator for its function or class."""
    text = path.read_text()
    if "mark.spec" not in text:
        return
    name = path.relative_to(ROOT).as_posix()
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets):
            yield from _named(node.value, name)
    yield from _decorated(tree, name)


def _decorated(parent: ast.Module | ast.ClassDef, name: str) -> Iterator[Mark]:
    for node in parent.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            test = f"{name}::{node.name}"
            for decorator in node.decorator_list:
                yield from _named(decorator, test)
            if isinstance(node, ast.ClassDef):
                yield from _decorated(node, test)


def _named(value: ast.expr, test: str) -> Iterator[Mark]:
    """The ids of each `pytest.mark.spec(…)` in an expression; what is no plain string is a row that no document can have."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.spec":
            for argument in node.args:
                row = argument.value if isinstance(argument, ast.Constant) else ast.unparse(argument)
                yield Mark(str(row), test, argument.lineno)
