"""The tour through the pages: five things to try, each with the control that it points at. Pure."""

from __future__ import annotations

from msgspec import Struct


class Step(Struct, frozen=True):
    """`page` is the URL's name; of the `targets` (CSS selectors) the first that is seen on the page at hand is pointed at."""

    title: str
    words: str
    page: str
    targets: tuple[str, ...]


def steps(*, may_operate: bool, may_kill: bool) -> list[Step]:
    """All five, in their order; who may not act is shown where to look, and told whose it is to act."""
    return [
        Step(
            "See the high watermark move",
            "Open a topic, then the replicas of a partition by the button before its number. Each replica is a bar: solid below the high"
            " watermark, which all in-sync replicas have, hatched above it. Records that arrive move it.",
            "topics",
            ("#partial .expand", ".ladder", "#partial table.lists tbody th a", "#partial .button"),
        ),
        Step(
            "Kill a broker",
            "Kill ends the broker’s process at once, as a crash would. It asks first, and Start has the broker back."
            if may_kill
            else "An admin, on the machine that the brokers run on, kills one here. Of each broker you see what it leads.",
            "brokers",
            ("[data-dialog^='kill-']", "#partial table"),
        ),
        Step(
            "Watch the ISR",
            "Within seconds the dead broker’s replicas leave the in-sync replicas (ISR) and others lead. This sentence says what is in"
            " danger; each change is an event. Once the broker is started again, its replicas catch up and come back.",
            "overview",
            (".verdict", "#brief"),
        ),
        Step(
            "Move a partition",
            "Pick topics and brokers; the plan says what is copied, and can be edited. The job says how far it is, and can be cancelled."
            if may_operate
            else "An operator moves partitions here. Moves are jobs: everybody sees how far they are.",
            "jobs",
            (".head .actions .primary", "#partial"),
        ),
        Step(
            "Ask Spark",
            "Run now starts a Spark driver, which turns the samples of the last hours into throughput and lag over time."
            if may_operate
            else "An operator starts an analysis: Spark turns the samples of the last hours into throughput and lag over time.",
            "analytics",
            (".head form button", "#partial"),
        ),
    ]
