"""What stands below a partition's ladder, and where its words lead."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.contract.partitions import Advice, Claim, Reassigning, Replica, SeenCut, UncleanElection
from console.rules.pieces import link, said, text_of
from console.rules.remarks import remarks
from tests.support.live_rows import partition, some


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ({}, ""),
        ({"state": "deleting"}, "Its topic is being deleted."),
        (
            {"state": "under_min_isr", "isr": (1,), "min_insync_replicas": 2},
            "Writes with acks=all are refused: 1 in sync, min.insync.replicas is 2.",
        ),
        (
            {"replicas": (some(Replica, broker_id=3, truncated=SeenCut(1_200, 90, 5)),)},
            "Broker 3 cut its log from 1\u202f200 to 90 to match the leader.",
        ),
        (
            {"leader": 2, "unclean": UncleanElection(7, (1, 3))},
            "Broker 2 was elected unclean in epoch 7, not being in sync (in sync: 1, 3): "
            "acknowledged records that it did not have are lost.",
        ),
        (
            {"last_stable_offset": 1_200, "high_watermark": 1_201},
            "A transaction is open: who reads committed records only (read_committed) waits at 1\u202f200, the last stable offset, "
            "1 record below the high watermark.",
        ),
        ({"last_stable_offset": 1_201, "high_watermark": 1_201}, ""),
        ({"claims": (Claim(1, 5), Claim(2, 6))}, "Two brokers claim to lead: 1 (epoch 5), 2 (epoch 6)."),
        (
            {"reassigning": Reassigning((4,), ()), "state": "deleting"},
            "Being moved: adding 4, removing none. Its topic is being deleted.",
        ),
    ],
)
def test_each_remark(known: dict[str, Any], text: str) -> None:
    assert text_of(remarks(partition(**known))) == text


def test_the_advice_comes_last_and_its_choices_lead_to_their_forms() -> None:
    choice = link("start broker 1", "brokers", "to-start-1")
    found = remarks(partition(state="offline", advice=some(Advice, parts=(said("Only it: "), choice, said(".")))))
    assert text_of(found) == "No leader: nothing can be read or written. Only it: start broker 1."
    assert [piece.href for piece in found if piece.href] == ["/brokers#to-start-1"]
