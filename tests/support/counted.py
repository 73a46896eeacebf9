"""Names and numbers that count how often they are compared: what takes too long is seen without a clock."""

from __future__ import annotations

from typing import ClassVar


class CountedName(str):
    """`compared` counts for all names together; looking one up by its hash costs a comparison or none."""

    __slots__ = ()
    compared: ClassVar[int] = 0

    def __eq__(self, other: object) -> bool:
        CountedName.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__

    def lower(self) -> CountedName:
        return CountedName(str.lower(self))


class CountedNumber(int):
    """The same for numbers."""

    compared: ClassVar[int] = 0

    def __eq__(self, other: object) -> bool:
        CountedNumber.compared += 1
        return int.__eq__(self, other)

    __hash__ = int.__hash__
