"""`make test` and `make conformance` leave no test out."""

from __future__ import annotations

from tests.run import LONG, PAGES, ROOT, SERVERS


def test_each_folder_that_is_run_by_name_is_there() -> None:
    """A pytest that is given a path which is none runs nothing at all."""
    assert all(any((ROOT / "tests" / folder).glob("**/test_*.py")) for folder in SERVERS + PAGES + LONG)


def test_no_folder_is_run_twice() -> None:
    assert len(set(SERVERS + PAGES + LONG)) == len(SERVERS + PAGES + LONG)
