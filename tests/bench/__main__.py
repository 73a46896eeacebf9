"""`python -m tests.bench [--quick] [--record] [part …]`: measures and prints, and tells which ratios fell since they were recorded last;
exit status 1 only when a part could not run."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime

from tests.bench import analyses, browser, coordinators, disk, lists, live, moves, pages, ratios, recorded, soak, start
from tests.bench.figures import Figure, print_table
from tests.bench.recorded import Recorded
from tests.bench.world import commit

PARTS: dict[str, Callable[[bool], list[Figure]]] = {
    "produce": ratios.produce,
    "fetch": ratios.fetch,
    "start": start.start,
    "idle": start.idle,
    "coordinators": coordinators.coordinators,
    "disk": disk.disk,
    "browser": browser.browser,
    "pages": pages.pages,
    "live": live.live,
    "lists": lists.lists,
    "moves": moves.moves,
    "analyses": analyses.analyses,
    "soak": soak.soak,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measures Highwater; figures, not tests.")
    parser.add_argument("parts", nargs="*", metavar="part", help=f"some of: {', '.join(PARTS)}; all without")
    parser.add_argument("--quick", action="store_true", help="short runs, to see that the bench works")
    parser.add_argument("--record", action="store_true", help="keep the ratios; later runs tell what fell beneath them")
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}")
    known = recorded.load()
    return max([_run(part, options.quick, options.record, known) for part in options.parts or PARTS])


def _run(part: str, quick: bool, keep: bool, known: Recorded) -> int:
    try:
        figures = PARTS[part](quick)
    except Exception:
        traceback.print_exc()
        print(f"{part} could not run", file=sys.stderr)
        return 1
    print_table(f"{part}{' (quick)' if quick else ''}", figures)
    if not quick:
        _compare(part, figures, keep, known)
    return 0


def _compare(part: str, figures: list[Figure], keep: bool, known: Recorded) -> None:
    """With what was recorded last; then kept in its place, if that was asked for."""
    for sentence in recorded.falls(known, part, figures):
        print(sentence)
    if keep:
        recorded.record(known, part, figures, commit(), datetime.now(UTC).date().isoformat())


if __name__ == "__main__":
    sys.exit(main())
