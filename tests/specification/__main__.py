"""`python -m tests.specification`: each row and rule with its test files and its state; of rows given as arguments each test."""

from __future__ import annotations

import sys

from tests.specification.document import Row, rows
from tests.specification.marks import Mark, marks


def state(row: Row, tests: int) -> str:
    """What is known of a row: whether it is said to be built, and whether a test names it."""
    if not row.built:
        return "not built yet, partly tested" if tests else "not built yet"
    return "proven" if tests else "NO TEST"


def table(known: dict[str, Row], found: list[Mark], *, names: bool) -> list[str]:
    """A line per row: id, title, number of marked tests and files, state; under it the tests when `names` is set, else the files."""
    lines = []
    for row in known.values():
        tests = list(dict.fromkeys(mark.test for mark in found if mark.row == row.id))
        lines.append(f"{row.id:4}{row.title[:48]:50}{len(tests):4}  {state(row, len(tests))}")
        shown = tests if names else sorted({test.partition("::")[0] for test in tests})
        lines += [f"      {name}" for name in shown]
    return lines


def summary(known: dict[str, Row], found: list[Mark]) -> str:
    """How many rows are in which state."""
    named = {mark.row for mark in found}
    states = [state(row, row.id in named) for row in known.values()]
    return ", ".join(f"{states.count(each)} {each}" for each in dict.fromkeys(sorted(states, reverse=True)))


def main(wanted: list[str]) -> int:
    """Prints the table; 1 where a built row has no test or an argument is no row."""
    known, found = rows(), marks()
    unknown = [row for row in wanted if row not in known]
    if unknown:
        print(f"no such row: {', '.join(unknown)}")
        return 1
    chosen = {id_: row for id_, row in known.items() if not wanted or id_ in wanted}
    print("\n".join(table(chosen, found, names=bool(wanted))))
    print(summary(chosen, found))
    return 1 if any(state(row, row.id in {mark.row for mark in found}) == "NO TEST" for row in chosen.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
