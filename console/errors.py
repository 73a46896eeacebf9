"""How what was asked for is refused before anything is done."""

from __future__ import annotations

from collections.abc import Sequence


class Invalid(Exception):
    """What was asked for cannot be meant; `field` names the input."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(detail)
        self.field, self.detail = field, detail


class Unconfirmed(Invalid):
    """What was asked for can be done, and can do harm: whoever asked is asked back, and confirms it by `confirm`."""


class Risky(Unconfirmed):
    """`risks` says in sentences which harm."""

    def __init__(self, risks: Sequence[str]) -> None:
        self.risks = list(risks)
        super().__init__("confirm", " ".join([*self.risks, "Ask again with confirm to do it."]))


class Outdated(Exception):
    """What the change rests on is not so any more (`If-Match`); the message says what."""


class Conflict(Exception):
    """Something under way stands in the way; the message names it."""


class ReadOnly(Conflict):
    """The cluster, which is named, may be looked at from here and not changed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is read-only here: nothing of it is changed from this console until an admin allows it.")


class TooManyStreams(Exception):
    """Nobody more can listen; the message says whose limit it is."""
