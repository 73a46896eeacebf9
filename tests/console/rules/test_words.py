"""Numbers and lengths of time in sentences: thin spaces that do not break, a unit that fits, plurals."""

from __future__ import annotations

import pytest

from broker_core.contract.live import Broker
from console.rules import lag, moves, report
from console.rules.verdict import verdict
from console.rules.words import counted, duration, size, whole
from tests.support.live_rows import partition, some


@pytest.mark.parametrize(("number", "said"), [(0, "0"), (999, "999"), (18_204_331, "18 204 331"), (-1_500, "−1 500"), (2_999.6, "3 000")])
def test_whole(number: float, said: str) -> None:
    assert whole(number) == said.replace(" ", "\u202f")


def test_counted() -> None:
    assert [counted(n, "partition") for n in (0, 1, 1_234)] == ["0 partitions", "1 partition", "1\u202f234 partitions"]
    assert counted(2, "copy", "copies") == "2 copies"


@pytest.mark.parametrize(
    ("seconds", "tenths_below", "said"),
    [
        (0.44, 10, "0.4 s"),
        (9.6, 10, "9.6 s"),
        (9.6, 1, "10 s"),
        (119, 10, "119 s"),
        (120, 10, "2 min"),
        (7_200, 10, "2 h"),
        (86_400 * 2, 10, "2 days"),
        (86_400 * 1_500, 10, "1 500 days"),
    ],
)
def test_duration(seconds: float, tenths_below: float, said: str) -> None:
    assert duration(seconds, tenths_below).replace("\u202f", " ") == said


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.50 KiB"), (13 * 2**20, "13.0 MiB"), (2**50, "1024 TiB")]
)
def test_size(number: float, said: str) -> None:
    assert size(number).replace("\u202f", " ") == said


def test_sentences_about_thousands_have_them() -> None:
    counts = {"partitions": 10_000, "offline": 1_000, "under_min_isr": 2_000, "under_replicated": 5_000, "not_preferred": 4_000}
    said = [
        verdict(counts, [2], [], None).text,
        verdict({"partitions": 10_000}, [2], [], None).text,
        verdict({"brokers_online": 3, "partitions": 10_000, "not_preferred": 4_000}, [], [], None).text,
        lag.group_words(10_000, None, "stalled", None),
        moves.plan_sentence([_row()] * 1_000),
        *_reported(),
    ]
    text = " ".join(said).replace("\u202f", " ")
    for words in (
        "1 000 partitions have no leader",
        "2 000 partitions refuse",
        "3 000 partitions have fewer",
        "all 10 000 partitions have all",
        "All 10 000 partitions are safe",
        "4 000 partitions are not led",
        "10 000 records behind",
        "1 000 partitions of 1 000 would change",
        "leads 1 000 of the 3 000",
        "1 000 found; the worst 20 are listed",
    ):
        assert words in text


def _reported() -> list[str]:
    trouble = [partition("t", n, "under_replicated") for n in range(1_000)]
    online = [some(Broker, broker_id=1, state="online", leaders=1_000, preferred=3_000)]
    checks = {check["id"]: check for check in report.report(report.Facts(trouble=trouble, brokers=online))["checks"]}
    return [checks["under_replicated"]["sentence"], checks["leader_imbalance"]["findings"][0]["evidence"]]


def _row() -> dict[str, object]:
    return {"from": [1], "to": [2], "adding": [2], "leader": 1, "leader_then": 2, "thinner": False}
