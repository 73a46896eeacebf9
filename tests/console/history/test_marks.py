"""Marks on the slider of the past: those that would cover each other are one."""

from __future__ import annotations

from console.past import Mark, apart


def mark(place: float, level: str = "warn") -> Mark:
    return Mark(f"{place:.2f}", level, f"/at/{place}", f"at {place}")


def test_marks_that_would_cover_each_other_are_one_and_the_gravest_is_it() -> None:
    found = apart([mark(50.0), mark(10.0), mark(10.5, "bad"), mark(11.0), mark(12.0)])
    assert [(one.place, one.level, one.sentence) for one in found] == [
        ("10.50", "bad", "at 10.5 (and 2 more)"),
        ("12.00", "warn", "at 12.0"),
        ("50.00", "warn", "at 50.0"),
    ]
    assert apart([]) == []
