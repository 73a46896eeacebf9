"""The cluster's verdict in a line: in few words, and the same while nothing happens."""

from __future__ import annotations

from typing import Any

from broker_core.contract.groups import Group
from console.live.merging.state import ClusterState
from console.rules.brief import brief
from tests.support.console_world import BROKERS, cluster_state
from tests.support.feed_rows import batch
from tests.support.live_rows import some


def words(dead: Any = (), silent: Any = (), groups: Any = (), *, store_is_away: bool = False, folders: int = 0, **counts: int) -> str:
    return brief({"partitions": 180, **counts}, dead, silent, groups, store_is_away=store_is_away, folders=folders)


def test_it_names_what_is_wrong_in_few_words() -> None:
    assert words() == "All 180 partitions are safe"
    assert (words(partitions=0), words(partitions=1)) == ("No topics yet", "The one partition is safe")
    assert words(dead=[2], under_replicated=5) == "Broker 2 is down · 5 partitions under-replicated"
    assert (
        words(under_min_isr=2, under_replicated=5, offline=1)
        == "1 partition offline · 2 partitions under min ISR · 3 partitions under-replicated"
    )
    assert words(silent=[1, 3], unknown=9) == "Brokers 1 and 3 are silent · 9 partitions of unknown state"
    assert words(store_is_away=True, folders=1) == "All 180 partitions are safe · ZooKeeper does not answer · 1 data folder in trouble"
    behind = [some(Group, attention="warn"), some(Group, attention="notice"), some(Group, attention=None)]
    assert words(groups=behind) == "All 180 partitions are safe · 2 groups behind"
    assert words(not_preferred=2) == "All 180 partitions are safe · 2 partitions not led by the preferred broker"
    assert "preferred" not in words(dead=[1], not_preferred=2)
    assert words(deleting=100) == "All 80 partitions are safe"


def test_it_does_not_change_because_time_passes() -> None:
    """The sentence of a silent broker tells the seconds; the line on top of every page must not."""
    state = cluster_state(1000)
    state.apply_batch(batch(1, [], 1000, removed_groups=["billing"]), 1000)
    state.take(1000)
    state.set_brokers({b: BROKERS[b] for b in (1, 2)}, 2000)

    def verdict(now_ms: int, of: ClusterState) -> Any:
        of.tick(now_ms)
        of.take(now_ms)
        return of.everything(now_ms)["cluster"].verdict

    said = [verdict(now_ms, state) for now_ms in range(60_000, 90_000, 5_000)]
    assert len({one.text for one in said}) > 1
    assert len({one.brief for one in said}) == 1
    assert "Broker 3 is down" in said[0].brief
