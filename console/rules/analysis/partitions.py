"""Which partitions have more than the others of their topic, and which change their ISR or leader again and again?"""

from __future__ import annotations

from datetime import UTC, datetime

from broker_core.contract.sentences import Line
from console.rules.analysis.model import Answer, Row, Table, Told, answer, told
from console.rules.pieces import link, said
from console.rules.words import counted

UNEVEN = 2.0
FLAPS = 3
"""Changes in a day, from which on a partition is said to flap."""


def what_is_uneven(skew: Table) -> Answer:
    """`UNEVEN` times the mean of the topic, in records a second or in bytes held."""
    uneven = sorted((row for row in skew.rows if _most(row) >= UNEVEN), key=lambda row: -_most(row))
    if not skew.rows:
        verdict = Line("unknown", "Not known yet: no topic with several partitions was sampled in the last day.")
    elif uneven:
        verdict = Line("notice", f"{counted(len(uneven), 'topic')} with a partition that has twice the mean or more.")
    else:
        verdict = Line("ok", "The partitions of each topic are about even.")
    return answer("uneven", "Which topics are uneven?", verdict, [_uneven(row) for row in uneven], ("skew",), left_off=skew.left_off)


def _most(row: Row) -> float:
    return max(row["rate_skew"] or 0, row["size_skew"] or 0)


def _uneven(row: Row) -> Told:
    parts = []
    if (row["rate_skew"] or 0) >= UNEVEN:
        parts.append(
            f"partition {row['busiest']} is written to {row['rate_skew']:.1f} times as fast as "
            f"the mean of {counted(row['partitions'], 'partition')}"
        )
    if (row["size_skew"] or 0) >= UNEVEN:
        parts.append(f"partition {row['largest']} is {row['size_skew']:.1f} times as large as the mean")
    return told(
        "notice", link(row["topic"], f"topic/{row['topic']}"), said(f": {'; '.join(parts)}. Keys that few records share would spread it.")
    )


def what_flaps(flapping: Table) -> Answer:
    flaps = [row for row in flapping.rows if max(row["shrinks"], row["leaders"]) >= FLAPS]
    if flaps:
        verdict = Line(
            "warn", f"{counted(len(flaps), 'partition')} lost a member of the ISR or changed the leader {FLAPS} times or more in a day."
        )
    else:
        verdict = Line(
            "ok", "No partition changed its ISR or its leader again and again in the last day, as far as samples 10 s apart show it."
        )
    return answer("flapping", "What does not rest?", verdict, [_flaps(row) for row in flaps], ("flapping",), left_off=flapping.left_off)


def _flaps(row: Row) -> Told:
    at = datetime.fromtimestamp(row["last_ms"] / 1000, UTC)
    name = link(f"{row['topic']}-{row['partition']}", f"topic/{row['topic']}")
    words = f" lost a member of its ISR {_times(row['shrinks'])} and changed its leader {_times(row['leaders'])}"
    return told("warn", name, said(f"{words}, last at {at:%H:%M} UTC on {at:%d %b}."))


def _times(number: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(number, f"{number} times")
