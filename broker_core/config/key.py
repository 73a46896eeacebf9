"""One setting: its Kafka name, type, default, limits and text; and how its text form is read and shown."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from broker_core.errors import ConfigError

SHORT_MAX = 2**15 - 1
INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
DOUBLE_MAX = sys.float_info.max


class KeyType(enum.IntEnum):
    """Types as DescribeConfigs numbers them (KIP-569)."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Scope(enum.Enum):
    """What a broker setting may be changed for while brokers run (KIP-226), in the words of Kafka's documentation."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


@dataclass(frozen=True, slots=True)
class Key:
    """A setting's definition; one whose scope is not READ_ONLY takes effect in a running broker."""

    name: str
    type: KeyType
    default: Any
    doc: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    scope: Scope = Scope.READ_ONLY
    sensitive: bool = False
    synonyms: tuple[str, ...] = ()
    """For a topic key: the broker keys that give its default, first match first."""
    shown_as: KeyType | None = None
    """The type that Kafka gives it where that is another."""

    @property
    def dynamic(self) -> bool:
        return self.scope is not Scope.READ_ONLY

    @property
    def attribute(self) -> str:
        return self.name.replace(".", "_")

    def parse(self, text: str) -> Any:
        """The value that `text` means; `ConfigError` names key, value and what would be right."""
        try:
            value = _READERS[self.type](text.strip())
        except ValueError:
            raise self._wrong(text, self._not_of_its_type) from None
        self._check(text, value)
        return value

    def show(self, value: Any) -> str | None:
        """The text form of a value, as DescribeConfigs and property files have it; None for a setting without a value."""
        if value is None:
            return None
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float):
            return _double(value)
        if isinstance(value, tuple):
            return ",".join(value)
        return str(value)

    def _check(self, text: str, value: Any) -> None:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and (why := self._out_of_range(value)):
            raise self._wrong(text, why)
        if self.choices:
            for item in value if isinstance(value, tuple) else (value,):
                if item not in self.choices:
                    raise self._wrong(item, f"String must be one of: {', '.join(self.choices)}")

    def _out_of_range(self, value: float) -> str:
        """In Kafka's words; empty where it is not. What its type cannot hold is no number to Kafka."""
        lowest, highest = _HELD.get(self.type, (value, value))
        if not lowest <= value <= highest:
            return self._not_of_its_type
        if self.low is not None and value < self.low:
            return f"Value must be at least {self.low}"
        return f"Value must be no more than {self.high}" if self.high is not None and value > self.high else ""

    @property
    def _not_of_its_type(self) -> str:
        if self.type is KeyType.BOOLEAN:
            return "Expected value to be either true or false"
        return f"Not a number of type {self.type.name}"

    def _wrong(self, text: str, why: str) -> ConfigError:
        text = text.strip()
        shown = text if len(text) <= 100 else text[:100] + "…"
        return ConfigError(f"Invalid value {shown} for configuration {self.name}: {why}")


def setting(
    name: str,
    type_: KeyType,
    default: Any,
    doc: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: Iterable[str] = (),
    dynamic: bool = False,
    sensitive: bool = False,
    synonyms: tuple[str, ...] = (),
    shown_as: KeyType | None = None,
) -> Any:
    """A dataclass field that carries its `Key`."""
    low, high = _type_range(type_, low, high)
    scope = Scope.CLUSTER_WIDE if dynamic else Scope.READ_ONLY
    key = Key(name, type_, default, doc, low, high, tuple(choices), scope, sensitive, synonyms, shown_as)
    return field(default=default, metadata={"key": key})


def _type_range(type_: KeyType, low: float | None, high: float | None) -> tuple[float | None, float | None]:
    if type_ is KeyType.INT:
        return (-(2**31) if low is None else low, INT_MAX if high is None else high)
    if type_ is KeyType.LONG:
        return (-(2**63) if low is None else low, LONG_MAX if high is None else high)
    return low, high


def _read_bool(text: str) -> bool:
    lowered = text.lower()
    if lowered not in ("true", "false"):
        raise ValueError(text)
    return lowered == "true"


def _read_list(text: str) -> tuple[str, ...]:
    return tuple(item for item in (part.strip() for part in text.split(",")) if item)


def _read_int(text: str) -> int:
    return int(_numeral(text, 20))


def _read_double(text: str) -> float:
    return float(_numeral(text, 1000))


def _double(value: float) -> str:
    """As Java writes it: 0.5, 20.0, 1.5E7."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    places = "".join(str(digit) for digit in digits)
    return f"{'-' * sign}{places[0]}.{places[1:].rstrip('0') or '0'}E{int(exponent) + len(places) - 1}"


def _numeral(text: str, most_characters: int) -> str:
    """Without the underscores that Python allows: other brokers and tools read these texts, too."""
    if len(text) > most_characters or "_" in text:
        raise ValueError(text)
    return text


_HELD = {KeyType.SHORT: (-(2**15), SHORT_MAX), KeyType.INT: (-(2**31), INT_MAX), KeyType.LONG: (-(2**63), LONG_MAX)}
_READERS: dict[KeyType, Callable[[str], Any]] = {
    KeyType.UNKNOWN: str,
    KeyType.BOOLEAN: _read_bool,
    KeyType.STRING: str,
    KeyType.INT: _read_int,
    KeyType.SHORT: _read_int,
    KeyType.LONG: _read_int,
    KeyType.DOUBLE: _read_double,
    KeyType.LIST: _read_list,
    KeyType.CLASS: str,
    KeyType.PASSWORD: str,
}
