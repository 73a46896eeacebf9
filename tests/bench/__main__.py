"""`python -m tests.bench [--quick] [part …]`: measures and prints; exit status 1 only when a part could not run."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable

from tests.bench import browser, disk, lists, live, pages, ratios, soak, start
from tests.bench.figures import Figure, print_table

PARTS: dict[str, Callable[[bool], list[Figure]]] = {
    "produce": ratios.produce,
    "fetch": ratios.fetch,
    "start": start.start,
    "idle": start.idle,
    "disk": disk.disk,
    "browser": browser.browser,
    "pages": pages.pages,
    "live": live.live,
    "lists": lists.lists,
    "soak": soak.soak,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measures Highwater; figures, not tests.")
    parser.add_argument("parts", nargs="*", metavar="part", help=f"some of: {', '.join(PARTS)}; all without")
    parser.add_argument("--quick", action="store_true", help="short runs, to see that the bench works")
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}")
    return max([_run(part, options.quick) for part in options.parts or PARTS])


def _run(part: str, quick: bool) -> int:
    try:
        figures = PARTS[part](quick)
    except Exception:
        traceback.print_exc()
        print(f"{part} could not run", file=sys.stderr)
        return 1
    print_table(f"{part}{' (quick)' if quick else ''}", figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
