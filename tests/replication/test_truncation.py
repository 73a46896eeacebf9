"""Where logs part and what is cut (the seven divergence cases)."""

from __future__ import annotations

from random import Random

import pytest

from broker_core.replication.following.truncation import (
    Comparison,
    Cut,
    EpochEnd,
    Restart,
    RestartPlan,
    after_out_of_range,
    compare_position,
    cut_for,
)
from tests.support.replica_model import ModelReplica, catch_up, fetch

pytestmark = pytest.mark.spec("B1", "B5")


def log(*epochs: int) -> list[tuple[str, int]]:
    """Records whose values tell epoch and offset, so that equal records mean equal history."""
    return [(f"e{epoch}@{offset}", epoch) for offset, epoch in enumerate(epochs)]


CASES = {
    "A follower behind, same epoch": ((1, 1, 1, 1), (1, 1), None),
    "B follower behind, leader has a later epoch": ((1, 1, 2, 2), (1, 1), None),
    "C follower ahead in the same epoch": ((1, 1), (1, 1, 1, 1), 2),
    "D follower ahead with a later epoch": ((1, 1), (1, 1, 2, 2), 2),
    "E fork, each side its own epoch": ((1, 1, 3, 3), (1, 1, 2, 2), 2),
    "F fork, the leader went on in the old epoch": ((1, 1, 1), (1, 2, 2), 1),
    "G no epoch in common": ((1, 3, 3), (2, 2, 2), 0),
}


@pytest.mark.parametrize(("leader_epochs", "follower_epochs", "cut_at"), CASES.values(), ids=list(CASES))
def test_divergence_cases(leader_epochs: tuple[int, ...], follower_epochs: tuple[int, ...], cut_at: int | None) -> None:
    """Right after an election into epoch 4: the first fetch cuts where the histories part, then the logs become equal."""
    leader = ModelReplica(1).holding(*log(*leader_epochs))
    follower = ModelReplica(2).holding(*log(*follower_epochs))
    leader.lead(4, isr=(1,), others=(2,))
    first = fetch(follower, leader)
    if cut_at is None:
        assert first.startswith("appended")
    else:
        assert (first, follower.leo) == ("cut", cut_at)
    catch_up(follower, leader)
    assert follower.log == leader.log


@pytest.mark.spec("B2")
def test_fast_double_failover_with_uneven_epochs() -> None:
    """KIP-279: the follower has epochs the leader never saw, several of them; one cut per fetch until they agree."""
    leader = ModelReplica(1).holding(*log(1, 1, 4, 4, 4))
    follower = ModelReplica(2).holding(*log(1, 2, 3, 3, 3))
    leader.lead(6, isr=(1,), others=(2,))
    steps = catch_up(follower, leader)
    assert steps[0] == "cut"
    assert follower.log == leader.log


@pytest.mark.parametrize("seed", range(150))
def test_logs_become_equal_after_any_elections(seed: int) -> None:
    """Elections of any replica (unclean ones too), followers that fetch a little or miss whole epochs; then all catch up."""
    random = Random(seed)
    replicas = {broker: ModelReplica(broker) for broker in (1, 2, 3)}
    leader = replicas[1]
    for epoch in range(random.randint(2, 9)):
        leader = replicas[random.choice((1, 2, 3))]
        followers = [replica for replica in replicas.values() if replica is not leader]
        leader.lead(epoch, isr=(leader.broker_id,), others=tuple(replica.broker_id for replica in followers))
        for step in range(random.randint(0, 6)):
            if random.random() < 0.5:
                leader.produce(f"e{epoch}s{step}")
            else:
                fetch(random.choice(followers), leader, most=random.randint(1, 3))
    for replica in replicas.values():
        if replica is not leader:
            catch_up(replica, leader)
            assert replica.log == leader.log


@pytest.mark.spec("R6")
class TestTheTwoFailures:
    """The two failures, with truncation by high watermark and by epoch."""

    def replicas(self, follower_leo: int) -> tuple[ModelReplica, ModelReplica]:
        """Leader A at LEO 1, HW 1; follower B with `follower_leo` records and HW 0."""
        a, b = ModelReplica(1), ModelReplica(2)
        a.lead(0, isr=(1, 2), others=(2,))
        a.produce("m0")
        fetch(b, a)
        a.followers[2].log_end_offset = 1
        a.move_high_watermark(0)
        b.lose_unflushed(follower_leo)
        assert (a.leo, a.high_watermark, b.leo, b.high_watermark) == (1, 1, follower_leo, 0)
        return a, b

    def test_loss_with_high_watermark_truncation(self) -> None:
        a, b = self.replicas(follower_leo=1)
        b.truncate(b.high_watermark)
        b.lead(1, isr=(2,), others=(1,))
        a.truncate(min(a.high_watermark, b.leo))
        catch_up(a, b)
        assert a.log == b.log == []

    def test_no_loss_with_epochs(self) -> None:
        a, b = self.replicas(follower_leo=1)
        catch_up(b, a)
        assert b.leo == 1, "restarting B asks A by epoch and has nothing to cut"
        b.lead(1, isr=(2,), others=(1,))
        b.produce("m1")
        assert b.epochs == [(0, 0), (1, 1)]
        catch_up(a, b)
        assert a.log == b.log == [("m0", 0), ("m1", 1)]

    def test_divergence_with_high_watermark_truncation(self) -> None:
        a, b = self.replicas(follower_leo=0)
        b.lead(1, isr=(2,), others=(1,))
        b.produce("other")
        a.truncate(a.high_watermark)
        assert a.leo == b.leo == 1
        assert a.log != b.log, "both claim to be complete, with different records at offset 0"

    def test_equal_logs_with_epochs(self) -> None:
        a, b = self.replicas(follower_leo=0)
        b.lead(1, isr=(2,), others=(1,))
        b.produce("other")
        assert b.epochs == [(1, 0)]
        assert catch_up(a, b)[0] == "cut"
        assert a.log == b.log == [("other", 1)]


@pytest.mark.spec("R6")
def test_of_three_replicas_the_first_dies_and_comes_back() -> None:
    """A leads at LEO 5, B has 4, C has 3 (so HW 3); A dies, B leads; A returns and must not keep its own tail."""
    a, b, c = ModelReplica(1), ModelReplica(2), ModelReplica(3)
    a.lead(0, isr=(1, 2, 3), others=(2, 3))
    a.produce("m0", "m1", "m2", "m3", "m4")
    fetch(b, a, most=4)
    fetch(c, a, most=3)
    fetch(b, a, most=0)
    fetch(c, a, most=0)
    assert (a.leo, b.leo, c.leo, a.high_watermark) == (5, 4, 3, 3)
    b.lead(1, isr=(2, 3), others=(1, 3))
    b.produce("n4")
    catch_up(c, b)
    catch_up(a, b)
    assert [value for value, _ in a.log] == ["m0", "m1", "m2", "m3", "n4"]
    assert a.log == b.log == c.log


def test_below_the_log_start_is_out_of_range_before_divergence() -> None:
    """KAFKA-12996."""
    diverging = EpochEnd(1, 5)
    assert compare_position(7, 2, log_start_offset=10, own=diverging) is Comparison.OUT_OF_RANGE
    assert compare_position(12, 2, log_start_offset=10, own=diverging) is Comparison.DIVERGES
    assert compare_position(12, 2, log_start_offset=10, own=EpochEnd(2, 12)) is Comparison.MATCHES
    assert compare_position(12, 2, log_start_offset=0, own=EpochEnd(-1, -1)) is Comparison.OUT_OF_RANGE


def test_fallback_answers_of_offset_for_leader_epoch() -> None:
    assert cut_for(EpochEnd(-1, -1), EpochEnd(1, 8), 10, fallback_offset=6) == Cut(6, True)
    assert cut_for(EpochEnd(-1, 7), EpochEnd(1, 8), 10, fallback_offset=6) == Cut(7, True)
    assert cut_for(EpochEnd(1, 7), EpochEnd(-1, -1), 10, fallback_offset=6) == Cut(7, True)
    assert cut_for(EpochEnd(3, 9), EpochEnd(2, 8), 10, fallback_offset=6) == Cut(8, False)
    assert cut_for(EpochEnd(2, 7), EpochEnd(2, 8), 10, fallback_offset=6) == Cut(7, True)
    assert cut_for(EpochEnd(2, 20), EpochEnd(2, 10), 10, fallback_offset=6) == Cut(10, True)


def test_after_out_of_range() -> None:
    assert after_out_of_range(10, 0, 5) == RestartPlan(Restart.CUT, 5)
    assert after_out_of_range(10, 50, 90) == RestartPlan(Restart.START_OVER, 50)
    assert after_out_of_range(10, 5, 90) == RestartPlan(Restart.KEEP, 10)
    assert after_out_of_range(10, 10, 10) == RestartPlan(Restart.KEEP, 10)
