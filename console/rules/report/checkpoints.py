"""HW-021: checkpoints of a data folder that are not brought up to date, though their interval is long over."""

from __future__ import annotations

from broker_core.contract.live import LogDir
from console.rules.report.facts import Facts
from console.rules.report.finding import Finding, Outcome
from console.rules.words import counted, duration

LATE_S = 300


def stale(facts: Facts) -> Outcome:
    found, untold = [], 0
    for broker in facts.online:
        served = [one for one in (broker.log_dir, *(broker.other_log_dirs or ())) if one is not None and one.offline_since_ms is None]
        untold += broker.log_dir is None or any(one.checkpoints_late_s is None for one in served)
        found += [_finding(broker.broker_id, one, one.checkpoints_late_s) for one in served if (one.checkpoints_late_s or 0) >= LATE_S]
    why = f"{counted(untold, 'broker')} {'does' if untold == 1 else 'do'} not tell how old its checkpoints are" if untold else ""
    return Outcome(found, why or ("" if facts.online else "no broker that runs is known"))


def _finding(broker: int, one: LogDir, late_s: int | None) -> Finding:
    return Finding(
        f"broker {broker} {one.path}",
        "warn",
        f"The checkpoints of data folder {one.path} of broker {broker} are stale.",
        f"One has not been brought up to date for {duration(late_s or 0)} longer than its interval.",
        "See whether the disk answers, and the broker's log. After a crash it would read more of its logs, and may begin with an older"
        " high watermark.",
        f"/brokers/{broker}",
        f"broker {broker}",
        late_s or 0,
    )
