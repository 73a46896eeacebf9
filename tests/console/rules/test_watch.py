"""A client is judged by what it gets done."""

from __future__ import annotations

from console.rules.watch import Watch


def test_one_that_has_nothing_to_do_does_not_stand_still() -> None:
    watch = Watch("w", "writing", 10.0)
    assert not watch.stands_still(1_000.0)
    watch.asked(1_000.0)
    watch.done(1_001.0, 1, waiting=False)
    assert not watch.stands_still(9_000.0)
    assert watch.value(9_000.0) == {
        "name": "w",
        "doing": "writing",
        "done": 1,
        "silent_s": None,
        "sentence": "The client writing gets its work done.",
    }


def test_one_that_gets_nothing_done_in_time_stands_still_whatever_is_asked_meanwhile() -> None:
    watch = Watch("w", "writing", 10.0)
    for now in range(10):
        watch.asked(float(now))
        assert not watch.stands_still(float(now))
    assert watch.stands_still(10.0) and watch.silent_s(10.0) == 10.0
    assert watch.sentence(10.0) == "The client writing has got nothing done for 10\u202fs, and it says nothing."


def test_each_thing_done_gives_the_rest_time() -> None:
    watch = Watch("w", "writing", 10.0)
    watch.asked(0.0)
    watch.done(9.0, 1, waiting=True)
    watch.done(15.0, 0, waiting=True)
    assert not watch.stands_still(18.0)
    assert watch.stands_still(19.0)


def test_a_new_client_has_as_much_time_and_the_silence_goes_on_until_something_is_done() -> None:
    watch = Watch("w", "writing", 10.0)
    watch.asked(0.0)
    watch.replaced(10.0)
    watch.failed("e" * 500)
    assert not watch.stands_still(19.0) and watch.stands_still(20.0)
    assert watch.silent_s(19.0) == 19.0
    assert watch.sentence(19.0).startswith(
        "The client writing has got nothing done for 19\u202fs; it was replaced 1 time. It last said: eee"
    )
    assert len(watch.sentence(19.0)) < 400
    watch.done(21.0, 3, waiting=False)
    assert watch.silent_s(100.0) is None and watch.value(100.0)["done"] == 3
