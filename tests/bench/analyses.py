"""What the analyses cost on `local[2]`: each question against a plain read of the same Parquet, and how time grows with the samples."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.bench.figures import Figure

ROOT = Path(__file__).resolve().parent.parent.parent
SIZES, SIZES_QUICK = (10_000_000, 100_000_000), (200_000, 1_000_000)
PLAIN_MOST = 3.0
PATIENCE_S = 7_200


def analyses(quick: bool) -> list[Figure]:
    found = [_driven(rows) for rows in (SIZES_QUICK if quick else SIZES)]
    figures = []
    for one in found:
        took, millions = one["took"], one["rows"] / 1e6
        what = f"{millions:,.1f} M samples"
        plain = took["plain"]
        costs = {name: seconds / plain for name, seconds in took.items() if name != "plain"}
        dearest = max(costs, key=lambda name: costs[name])
        note = ", ".join(f"{name} {cost:.2g}" for name, cost in sorted(costs.items(), key=lambda item: -item[1]))
        figures += [
            Figure(f"{what}: a plain read", "s", [plain]),
            Figure(f"{what}: all questions", "s", [sum(took.values()) - plain]),
            Figure(f"{what}: the dearest ({dearest}) by a plain read", "ratio", [costs[dearest]], at_most=PLAIN_MOST, note=note),
            Figure(f"{what}: the driver's largest RSS", "MB", [one["jvm_mb"]]),
        ]
    small, large = found[0], found[-1]
    more = large["rows"] / small["rows"]
    growth = (sum(large["took"].values()) / sum(small["took"].values())) / more
    figures.append(Figure("time grows by the samples' growth", "ratio", [growth], at_most=1.0, note=f"{more:.3g} times the samples"))
    return figures


def _driven(rows: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.bench.analyses_driver", "--rows", str(rows), "--folder", folder]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
