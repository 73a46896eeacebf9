"""How pages write numbers: the same rules as `static/js/format.js`. Unknown is a dash, never 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import Any

from django import template

from broker_core.contract.feed import StagesMs
from broker_core.contract.groups import Group, Lag
from broker_core.contract.live import Broker, Cluster
from broker_core.contract.partitions import Partition, Topic
from console.rules import words as say
from console.rules.states import SURE
from console.rules.words import THIN

register = template.Library()
DASH = "–"


@register.filter
def whole(value: Any) -> str:
    """`18204331` as `18 204 331` with thin spaces."""
    number = number_of(value)
    return DASH if number is None else say.whole(number)


@register.filter
def of_noun(value: Any, noun: str) -> str:
    """`1 topic`, `3 000 topics`; an unknown number of them is `– topics`."""
    number = number_of(value)
    return f"{DASH} {noun}s" if number is None else say.counted(round(number), noun)


@register.filter
def of_brokers(cluster: Cluster | None) -> str:
    """How many run of those that are known; with none known, nobody can say."""
    if cluster is None or not cluster.brokers_total:
        return "unknown"
    return f"{whole(cluster.brokers_online)} of {whole(cluster.brokers_total)}"


@register.filter
def slot(tick_ms: int) -> str:
    """How long a slot of a timing wheel is: `400 ms`, `8 s`."""
    return f"{tick_ms}{THIN}ms" if tick_ms < 1000 else f"{tick_ms // 1000}{THIN}s"


@register.filter
def sum_of(counts: Sequence[int]) -> int:
    return sum(counts)


@register.filter
def in_slots(slots: Sequence[int]) -> str:
    """How many deadlines lie in each slot, a dot where none does."""
    return " ".join(str(count or "·") for count in slots)


@register.filter
def size(value: Any) -> str:
    """Bytes in the largest fitting binary unit."""
    number = number_of(value)
    return DASH if number is None else say.size(number)


@register.filter
def byte_rate(value: Any) -> str:
    return DASH if number_of(value) is None else size(value) + "/s"


@register.filter
def rate(value: Any) -> str:
    """Per second: a tenth below 10, but nothing is `0/s`."""
    number = number_of(value)
    if number is None:
        return DASH
    return (whole(number) if number >= 100 or number == 0 else f"{number:.{0 if number >= 10 else 1}f}") + "/s"


@register.filter
def by_broker(value: Any) -> str:
    """Of each broker that has any: `2: 14`."""
    if not isinstance(value, Mapping):
        return DASH
    return ", ".join(f"{broker}: {whole(number)}" for broker, number in value.items() if number) or "none"


@register.filter
def duration(value: Any) -> str:
    """Milliseconds as a length of time in its own unit."""
    number = number_of(value)
    return DASH if number is None else say.duration(number / 1000)


@register.filter
def seconds(value: Any) -> str:
    number = number_of(value)
    return DASH if number is None else duration(number * 1000)


@register.filter
def without_unmeasured(words: str, value: Broker | Topic | Partition) -> str:
    """A sum over the partitions whose leaders tell of their logs: where others do not, there is at least so much."""
    return f"≥{THIN}{words}" if value.unmeasured and words != DASH else words


@register.filter
def time_behind(value: Group | Lag) -> str:
    """Lag in time of a group or a row, with how sure it is: the record's own age, `about` for an estimate, `≥` for a bound."""
    return DASH if value.lag_s is None else SURE[value.lag_basis or "record"] + seconds(value.lag_s)


@register.filter
def bound(value: Any) -> str:
    """A percentile read from a histogram: its bucket's upper bound, as `≤ 10 ms`."""
    number = number_of(value)
    return DASH if number is None else f"≤{THIN}{f'{number:.1f}' if number < 10 else whole(number)}{THIN}ms"


@register.filter
def stages(value: StagesMs | None) -> str:
    """What a request's time is made of: queued + on the loop + waiting for others + sent. Nothing where it is unknown."""
    if not value:
        return ""
    parts = (value.request_queue, value.local, value.remote, value.response_send)
    return " + ".join(f"{ms:.1f}" if ms < 10 else whole(ms) for ms in parts) + f"{THIN}ms"


@register.filter
def percent(value: Any) -> str:
    """A signed share: 0.33 as `+33 %`. Nothing where it is unknown: it only stands under a figure."""
    number = number_of(value)
    if number is None:
        return ""
    rounded = round(number * 100)
    return f"{'+' if rounded > 0 else ''}{whole(rounded)}{THIN}%"


@register.filter
def of_hundred(value: Any) -> str:
    """A share of a hundred that was measured: 97.3 as `97 %`."""
    number = number_of(value)
    return DASH if number is None else f"{whole(number)}{THIN}%"


@register.filter
def listed(value: Any) -> str:
    """Ids or names with commas; `none` for an empty list, a dash for an unknown one."""
    if value is None:
        return DASH
    return ", ".join(str(item) for item in value) or "none"


@register.filter
def counted(value: Any) -> str:
    return whole(len(value)) if isinstance(value, Sized) else DASH


@register.filter
def shown(value: Any) -> str:
    return DASH if value is None or value == "" else str(value)


def number_of(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
