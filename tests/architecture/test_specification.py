"""The specification, what cites it and what is marked by it agree."""

from __future__ import annotations

import pytest

from tests.specification.citations import citations, cited, strays, unreadable
from tests.specification.document import rows, rows_in
from tests.specification.marks import marks


def test_every_mark_leads_to_a_row() -> None:
    known = rows()
    assert [f"{mark.test} (line {mark.line}): {mark.row}" for mark in marks() if mark.row not in known] == []


def test_every_citation_leads_to_a_row() -> None:
    known = {*rows(), "B"}  # `spec B` is the list of failures as a whole
    found = citations()
    assert found
    assert [f"{each.place}: spec {each.row}" for each in found if each.row not in known] == []


def test_citations_have_the_one_form() -> None:
    """`spec R6` in code and comments, `@pytest.mark.spec("R6")` on tests."""
    assert unreadable() == []


def test_every_row_that_is_built_has_a_test() -> None:
    """Else the document says `Not built yet: …` of it."""
    named = {mark.row for mark in marks()}
    assert [f"{row.id} {row.title}" for row in rows().values() if row.built and row.id not in named] == []


@pytest.mark.parametrize(
    ("line", "ids"),
    [
        ("What is asked (spec R6).", ["R6"]),
        ("spec Z4, B11: two of them", ["Z4", "B11"]),
        ("(KIP-101; spec S1–S3, C)", ["S1", "S2", "S3", "C"]),
        ("spec R9 and spec R8", ["R9", "R8"]),
        ("spec Z1–R2", ["Z1–R2"]),
        ("spec.loader, EntitySpec, spec Reader", []),
    ],
)
def test_what_a_line_cites(line: str, ids: list[str]) -> None:
    assert list(cited(line)) == ids


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('    """R6: what it shows."""', ["R6"]),
        ("# leaders (O3), and so on", ["O3"]),
        ("# old: SOURCES R6", ["SOURCES R6"]),
        ("# (spec O3)", []),
        ("AppendOrigin.REPLICATION, one", []),
        ("three batches R1, R2, R3", []),
    ],
)
def test_ids_that_nobody_would_find(line: str, found: list[str]) -> None:
    assert strays(line) == found


def test_rows_of_a_text() -> None:
    text = """## Storage
### <a id="S1"></a>S1 · Folders
Asked.
### <a id="S2"></a>S2 · Index

Not built yet: all of it.
## Not a row
Not built yet: nobody's line.
### <a id="S3"></a>S3 · Formats
"""
    assert [(row.id, row.title, row.built) for row in rows_in(text).values()] == [
        ("S1", "Folders", True),
        ("S2", "Index", False),
        ("S3", "Formats", True),
    ]
    with pytest.raises(AssertionError, match="S1 is there twice"):
        rows_in(text + text)
