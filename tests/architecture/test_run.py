"""`make test` and `make conformance` leave no test out."""

from __future__ import annotations

from tests.run import COMPUTING, LONG, PAGES, ROOT, SERVERS

BY_NAME = SERVERS + PAGES + COMPUTING + LONG


def test_each_folder_that_is_run_by_name_is_there() -> None:
    """A pytest that is given a path which is none runs nothing at all."""
    assert all(any((ROOT / "tests" / folder).glob("**/test_*.py")) for folder in BY_NAME)


def test_no_folder_is_run_twice() -> None:
    assert len(set(BY_NAME)) == len(BY_NAME)
