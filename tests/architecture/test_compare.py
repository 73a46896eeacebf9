"""What the comparison says of Highwater is shown by a test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from tests.specification.document import ROOT

TEXT = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
CELL = re.compile(r"(?:\[(?:yes|part)\]\(\.\./(?P<test>tests/[\w/]+\.py)\)|no)(?::? .+)?")


def tables() -> Iterator[list[list[str]]]:
    """Rows of cells, without the heads."""
    for is_table, lines in groupby(TEXT.splitlines(), lambda line: line.startswith("|")):
        if is_table:
            yield [[cell.strip() for cell in line.strip("|").split("|")] for line in list(lines)[2:]]


def test_each_yes_leads_to_a_test() -> None:
    peers, wanted = tables()
    cells = [row[1] for row in peers] + [row[2] for row in wanted]
    assert cells
    for cell in cells:
        found = CELL.fullmatch(cell)
        assert found, f"{cell!r} is neither yes nor part, with a test, nor no"
        assert found["test"] is None or (ROOT / found["test"]).is_file(), cell


def test_what_is_not_there_has_its_reason_and_all_25_are_told() -> None:
    _, wanted = tables()
    assert [row[0] for row in wanted] == [str(number) for number in range(1, 26)]
    assert all(":" in row[2] for row in wanted if not row[2].startswith("[yes]"))
