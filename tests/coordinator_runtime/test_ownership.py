"""Taking over and giving up partitions in any order (KAFKA-10614)."""

import pytest

from broker_core.coordinator_runtime.ownership import Ownership, Tenure

pytestmark = pytest.mark.spec("B19")


def elected(ownership: Ownership, partition: int, epoch: int) -> Tenure:
    tenure = ownership.elected(partition, epoch)
    assert tenure is not None
    assert (tenure.epoch, tenure.is_loading) == (epoch, True)
    return tenure


def loaded(ownership: Ownership, partition: int, epoch: int) -> Tenure:
    tenure = elected(ownership, partition, epoch)
    tenure.is_loading = False
    return tenure


def test_election_loads_and_resignation_ends():
    ownership = Ownership()
    tenure = elected(ownership, 3, 5)
    assert (ownership.partitions, ownership.is_loading(3), ownership.is_loading_any) == ([3], True, True)
    tenure.is_loading = False
    assert (ownership.partitions, ownership.is_loading(3), ownership.is_loading_any) == ([3], False, False)
    assert ownership.resigned(3, 6)
    assert (ownership.partitions, tenure.epoch) == ([], None)


def test_resignation_from_what_is_not_here_ends_nothing():
    assert not Ownership().resigned(3, 6)


def test_late_resignation_does_not_end_a_newer_election():
    ownership = Ownership()
    tenure = loaded(ownership, 3, 7)
    assert not ownership.resigned(3, 6)
    assert (ownership.partitions, tenure.epoch) == ([3], 7)


def test_late_election_does_not_load_after_a_newer_resignation():
    ownership = Ownership()
    loaded(ownership, 3, 5)
    ownership.resigned(3, 8)
    assert ownership.elected(3, 7) is None
    assert ownership.partitions == []
    elected(ownership, 3, 9)


def test_load_of_an_older_leadership_is_void():
    ownership = Ownership()
    first = elected(ownership, 3, 5)
    assert ownership.resigned(3, 6)
    second = elected(ownership, 3, 7)
    assert (first.is_loading, first.epoch) == (False, None)
    assert second is not first
    assert ownership.is_loading(3)


def test_new_epoch_of_the_same_leader_keeps_what_is_loaded():
    ownership = Ownership()
    tenure = loaded(ownership, 3, 5)
    assert ownership.elected(3, 6) is None
    assert (tenure.epoch, ownership.is_loading(3)) == (6, False)
    assert not ownership.resigned(3, 5)


def test_partition_that_is_deleted_may_start_anew_with_epoch_zero():
    ownership = Ownership()
    loaded(ownership, 3, 5)
    ownership.resigned(3, None)
    elected(ownership, 3, 0)
