"""What of the live state is kept, and how often."""

from __future__ import annotations

from msgspec import Raw

from console.live.history.recording import FIGURES_EVERY_MS_MAX, STATES_EVERY_MS, Recording

FIRST = {"partition/t/0": b'{"state":"safe","leader":1,"isr":[1,2],"high_watermark":5}'}


def recording() -> Recording:
    made = Recording(1_000.0)
    made.start_over(FIRST)
    made.due(1_000_000)
    return made


def take(made: Recording, **fields: str) -> None:
    made.take({name.replace("__", "/"): Raw(value.encode()) for name, value in fields.items()})


def test_a_change_of_state_is_due_at_once() -> None:
    made = recording()
    take(made, partition__t__0='{"state":"offline","leader":null,"isr":[1],"high_watermark":5}')
    assert made.due(1_000_001) == {"partition/t/0": b'{"state":"offline","leader":null,"isr":[1],"high_watermark":5}'}
    assert made.due(1_000_002) == {}


def test_a_changed_setting_is_due_at_once() -> None:
    made = recording()
    take(made, topic__t='{"state":"safe","own_settings":{"retention.ms":"1"},"messages":5}')
    made.due(1_000_001)
    take(made, topic__t='{"state":"safe","own_settings":{"retention.ms":"2"},"messages":6}')
    assert list(made.due(1_000_002)) == ["topic/t"]


def test_figures_wait_for_their_time_and_only_the_last_is_kept() -> None:
    made = recording()
    for offset in (6, 7, 8):
        take(made, partition__t__0=f'{{"state":"safe","leader":1,"isr":[1,2],"high_watermark":{offset}}}')
    assert made.due(1_000_000 + STATES_EVERY_MS - 1) == {}
    assert made.due(1_000_000 + STATES_EVERY_MS) == {"partition/t/0": b'{"state":"safe","leader":1,"isr":[1,2],"high_watermark":8}'}


def test_what_is_gone_is_due_at_once_and_what_was_never_there_is_not() -> None:
    made = recording()
    take(made, partition__t__0="null", topic__x="null")
    assert made.due(1_000_001) == {"partition/t/0": None}
    assert made.everything() == {}


def test_events_and_jobs_are_kept_elsewhere() -> None:
    made = recording()
    take(made, event__1='{"kind":"x"}', job__1='{"state":"queued"}', rhythm__g="{}")
    assert made.due(9_000_000) == {}


def test_a_value_that_cannot_be_read_is_kept_as_it_is() -> None:
    made = recording()
    take(made, topic__t='{"state":7}')
    take(made, topic__t='{"state":8}')
    assert made.due(9_000_000) == {"topic/t": b'{"state":8}'}


def test_figures_become_rarer_while_they_weigh_too_much_and_come_back() -> None:
    made = recording()
    for _ in range(10):
        made.weighed(10_000_000, 60_000)
    assert made.figures_every_ms == FIGURES_EVERY_MS_MAX
    for _ in range(40):
        made.weighed(100, 60_000)
    assert made.figures_every_ms == STATES_EVERY_MS
