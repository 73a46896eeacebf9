"""Delayed operations: watched by key, ended by a hierarchical timing wheel."""

from broker_core.purgatory.purgatory import DelayedOperation, Purgatory
from broker_core.purgatory.timer import Timer
from broker_core.purgatory.timing_wheel import TimerEntry, TimingWheels

__all__ = ["DelayedOperation", "Purgatory", "Timer", "TimerEntry", "TimingWheels"]
