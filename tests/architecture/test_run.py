"""`make test` leaves no test out."""

from __future__ import annotations

from tests.run import ROOT, SERVERS


def test_each_folder_of_the_first_run_is_there() -> None:
    """A pytest that is given a path which is none runs nothing at all."""
    assert all(any((ROOT / "tests" / folder).glob("**/test_*.py")) for folder in SERVERS)
