"""Known-wrong behaviours that the simulator switches on to prove that its checks would notice them."""

from __future__ import annotations

from msgspec import Struct


class Flaws(Struct, frozen=True):
    """All off in every real broker: only a constructor argument that tests pass can set one.

    Each names the rule it breaks and is honoured at exactly one place.
    """

    truncate_to_high_watermark: bool = False
    """A new follower cuts its log at its own high watermark instead of asking by epoch (spec B1, KIP-101)."""

    join_below_epoch_start: bool = False
    """A follower joins the ISR at the high watermark though it lacks the start of the epoch (spec B4, KAFKA-7128)."""

    accept_old_generations: bool = False
    """Control requests meant for an earlier registration of this broker are obeyed (spec B11, KIP-380)."""

    obey_before_registration: bool = False
    """Control requests are obeyed while this broker is not registered yet, whomever they were meant for (spec B11)."""

    ignore_pending_isr: bool = False
    """The high watermark waits for those who are in the ISR before and after a change that is not confirmed, not for both (spec R4)."""

    obey_late_alterations: bool = False
    """The controller carries out an ISR change that was asked for of an earlier state of the partition (spec R4)."""


NO_FLAWS = Flaws()
