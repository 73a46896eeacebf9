"""What is too long is cut off, also where the first cut is lost."""

from __future__ import annotations

import gc

import pytest

from workers.reader.bounds import TooLong, in_time


class Tidied:
    """Its finalizer works until it is cut off, and Python drops what a finalizer raises."""

    def __del__(self) -> None:
        try:
            while True:
                pass
        except TooLong:
            pass


def endless(raw: bytes) -> bool:
    Tidied()
    while True:
        pass


def test_what_is_lost_while_python_tidies_up_comes_again() -> None:
    bounded = in_time(endless)
    for _ in range(3):
        with pytest.raises(TooLong):
            bounded(b"")


def test_nobody_s_garbage_is_collected_meanwhile() -> None:
    assert not in_time(lambda _: gc.isenabled())(b"")
    assert gc.isenabled()


def test_what_is_in_time_is_not_cut_off_later() -> None:
    assert in_time(len)(b"abc") == 3
    with pytest.raises(TooLong):
        in_time(endless)(b"")
    assert sum(n * n for n in range(2_000_000)) > 0, "takes longer than the limit, with no timer on"
