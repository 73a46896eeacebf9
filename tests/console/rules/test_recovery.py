"""Who can lead, and what can be done where nobody does or acks=all is refused: every sentence, and where its words lead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace

from broker_core.contract.partitions import Partition, Replica
from console.rules.pieces import text_of
from console.rules.recovery import Who, records_lost, under_min_isr, without_leader
from console.rules.verdict import verdict
from tests.support.live_rows import partition, some

pytestmark = pytest.mark.spec("R8")


def value(isr: Sequence[int], ends: Mapping[int, int | None] | None = None) -> Partition:
    replicas = [some(Replica, broker_id=b, log_end_offset=(ends or {}).get(b)) for b in (0, 1, 2)]
    return partition("orders", 0, "offline", isr=isr, assignment=(0, 1, 2), replicas=replicas)


def said(isr: Sequence[int], who: Who, *, unclean: bool = False, ends: Mapping[int, int | None] | None = None) -> str:
    found = without_leader(value(isr, ends), who, unclean=unclean)
    assert found.text == text_of(found.parts)
    return found.text


ONLY_1 = "Only broker 1 has all its committed records: "
OTHERS = "If that cannot be, another copy (brokers 0 and 2) can be started and elected unclean: what only broker 1 had is then lost."


@pytest.mark.spec("R9")
@pytest.mark.parametrize(
    ("isr", "who", "text"),
    [
        ([1], Who([]), f"{ONLY_1}start broker 1. {OTHERS}"),
        ([1], Who([0]), f"{ONLY_1}start broker 1, or elect broker 0 unclean and lose what only broker 1 had."),
        ([1], Who([0], [0]), f"{ONLY_1}start broker 1. {OTHERS}"),
        ([1], Who([], (), {1: "paused"}), f"{ONLY_1}resume broker 1. {OTHERS}"),
        ([1], Who([], (), {1: "running"}), f"{ONLY_1}wait until broker 1, whose process runs, is back. {OTHERS}"),
        ([1], Who([1], [1]), f"{ONLY_1}restart broker 1 once its disk is sound. {OTHERS}"),
        ([1], Who([0, 1]), "Broker 1 was in sync and runs: the controller elects it."),
        ([1, 0], Who([0, 1]), "Brokers 0 and 1 were in sync and run: the controller elects one."),
        (
            [0, 1],
            Who([2]),
            "Only brokers 0 and 1 have all its committed records: start broker 0, or start broker 1, or elect broker 2 unclean "
            "and lose what only brokers 0 and 1 had.",
        ),
        ([], Who([]), "It is not known who was in sync: start broker 0, or start broker 1, or start broker 2."),
    ],
)
def test_who_can_lead_is_named(isr: list[int], who: Who, text: str) -> None:
    """Never a broker that was not in sync, unless with what that costs."""
    assert said(isr, who) == text


def test_where_the_topic_lets_anybody_lead_the_order_of_starting_matters() -> None:
    assert said([1], Who([]), unclean=True) == (
        f"{ONLY_1}start broker 1. unclean.leader.election.enable is on: if one of brokers 0 and 2 starts first, it leads and what only "
        "broker 1 had is lost."
    )


def test_what_would_be_lost_is_counted_where_it_is_known() -> None:
    found = without_leader(value([1], {0: 90, 1: 1_302, 2: 1_000}), Who([2, 0]), unclean=False)
    assert (found.can_lead, found.candidates, found.lost) == ((1,), (0, 2), 1_212)
    assert found.text.endswith("elect broker 0 unclean and lose what only broker 1 had, at least 1\u202f212 records.")
    assert records_lost(value([1], {0: 90, 1: None}).replicas, [1], 0) is None
    assert records_lost(value([1], {0: 90, 1: 80}).replicas, [1], 0) is None, "it may have other records than broker 1"


def test_each_choice_leads_to_its_form() -> None:
    found = without_leader(value([1]), Who([0]), unclean=False)
    assert [(p.text, p.about, p.form, p.href) for p in found.parts if p.about] == [
        ("start broker 1", "brokers", "to-start-1", "/brokers#to-start-1"),
        ("elect broker 0 unclean", "topic/orders", "elect-unclean", "/topics/orders#elect-unclean"),
    ]
    found = under_min_isr(value([1]), Who([1]))
    assert ("lower min.insync.replicas to 1", "topic/orders", "s-min.insync.replicas") in [(p.text, p.about, p.form) for p in found.parts]


@pytest.mark.spec("R5")
@pytest.mark.parametrize(
    ("isr", "who", "text"),
    [
        (
            [1],
            Who([1]),
            "Start broker 0, or start broker 2, or lower min.insync.replicas to 1 (acks=all then means 1 copy).",
        ),
        (
            [1],
            Who([0, 1, 2], [2]),
            "Restart broker 2 once its disk is sound, or wait until broker 0 has caught up, "
            "or lower min.insync.replicas to 1 (acks=all then means 1 copy).",
        ),
        ([0, 1], Who([0, 1, 2]), "Wait until broker 2 has caught up, or lower min.insync.replicas to 2 (acks=all then means 2 copies)."),
    ],
)
def test_under_min_isr_the_choices_are_named(isr: list[int], who: Who, text: str) -> None:
    assert under_min_isr(value(isr), who).text == text


def test_the_verdict_names_who_can_lead_among_the_dead() -> None:
    """With two brokers down the reader has to know which of them is the one."""
    counts = {"brokers_online": 1, "partitions": 10, "offline": 1, "under_min_isr": 0, "under_replicated": 0, "not_preferred": 0}
    worst = replace(value([1]), advice=without_leader(value([1]), Who([]), unclean=True))
    found = verdict(counts, [0, 1], [], worst)
    assert found.text == (
        "Brokers 0 and 1 are down: 1 partition has no leader, so no reads and no writes. "
        f"orders-0 has no leader: it takes no reads and no writes. {worst.advice.text}"
    )
    assert [part.about for part in found.parts] == ["brokers", "topic/orders"]
