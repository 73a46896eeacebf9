"""Random deaths and stops of whole brokers, each foretold by the console's rules from what the store has, and graded afterwards.

    outcome = run(seed=7, kills=100)
    assert not outcome.wrong

Five brokers, topics of one to five replicas, with and without unclean elections. Between two kills the controller finishes what the last
one asked of it, so that what is found afterwards is what this kill did. With `restless`, brokers that were started are not waited for:
their replicas join ISRs meanwhile.

As a program: `python -m tests.simulation.foretold --seeds 1-40 --kills 250` prints the figures.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from broker_core.model import TopicPartition
from console.rules.forecast import grading
from console.rules.forecast.fates import Around, Fate, How, fate_of
from console.rules.forecast.grading import Grade, Seen, grade
from tests.simulation.scenarios import stored_state
from tests.support.broker_cluster import BrokerCluster
from tests.support.live_rows import partition

BROKERS = 5
PARTITIONS = 4
TOPICS: dict[str, tuple[int, bool]] = {
    "lone": (1, False),
    "pair": (2, False),
    "loose-pair": (2, True),
    "usual": (3, False),
    "loose": (3, True),
    "wide": (5, False),
}
"""Their replication factor, and whether they let somebody lead who is not in sync."""
STOPS = 0.2
"""Of all kills so many are controlled shutdowns."""
FEWEST_UP = 1
SETTLED_MS = 30_000
QUIET_MS = 100


@dataclass
class Outcome:
    kills: int = 0
    stops: int = 0
    last_ones: int = 0
    """Kills of the last broker that ran: no controller is left."""
    of_controllers: int = 0
    came: Counter[str] = field(default_factory=Counter)
    becomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        for name in ("kills", "stops", "last_ones", "of_controllers"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.came.update(other.came)
        self.becomes.update(other.becomes)
        self.wrong += other.wrong
        self.changed += other.changed


class Foretold:
    def __init__(self, seed: int, *, restless: bool) -> None:
        self.chance = random.Random(f"foretold/{seed}")
        self.restless = restless
        self.outcome = Outcome()
        self.seed = seed
        self.cluster = BrokerCluster(brokers=BROKERS, seed=seed, **{"auto.leader.rebalance.enable": "false"})
        self.places: dict[TopicPartition, tuple[int, ...]] = {}

    def run(self, kills: int) -> Outcome:
        with self.cluster:
            self._begin()
            for _ in range(kills):
                self._start_some()
                self._kill_one()
        return self.outcome

    def _begin(self) -> None:
        self.cluster.start_all()
        for topic, (factor, unclean) in TOPICS.items():
            self.cluster.create(topic, PARTITIONS, factor, {"unclean.leader.election.enable": str(unclean).lower()})
            found = json.loads(self.cluster.world.ensemble.tree.find(f"/brokers/topics/{topic}").data)
            self.places |= {TopicPartition(topic, int(n)): tuple(replicas) for n, replicas in found["partitions"].items()}

    def _up(self) -> set[int]:
        return set(self.cluster.brokers)

    def _start_some(self) -> None:
        """At least one where too few run, else as it comes; the more are down, the likelier."""
        down = [b for b in self.cluster.ids if b not in self._up()]
        self.chance.shuffle(down)
        wanted = max(FEWEST_UP - len(self._up()), sum(self.chance.random() < 0.4 for _ in down))
        for broker_id in down[:wanted]:
            self.cluster.start(broker_id)
        if self.restless:
            self.cluster.until(self._is_known)
            self.cluster.world.run_for(self.chance.choice((0, 1, 20, 100)))
            self.cluster.until(self._is_known)
        else:
            self._settle(self._is_level)

    def _settle(self, also: Callable[[], bool] = lambda: True) -> None:
        """The controller knows who runs, and the store has not changed for a while."""
        before = -1
        for _ in range(SETTLED_MS // QUIET_MS):
            zxid = self.cluster.world.ensemble.tree.zxid
            if zxid == before and self._is_known() and also():
                return
            before = zxid
            self.cluster.world.run_for(QUIET_MS)
        raise AssertionError(f"seed {self.seed}: the cluster does not settle")

    def _is_known(self) -> bool:
        active = [broker.services.controller for broker in self.cluster.brokers.values() if broker.services.controller.is_active]
        return len(active) == 1 and active[0].snapshot().queue_size == 0 and set(self._registered()) == self._up()

    def _is_level(self) -> bool:
        """Wherever somebody leads, whoever runs is in sync."""
        up = self._up()
        seen = [self._seen(tp, up) for tp in self.places]
        return all(one.leader is None or up.intersection(one.replicas) <= set(one.isr) for one in seen)

    def _registered(self) -> list[int]:
        return [int(name) for name in self.cluster.world.ensemble.tree.children("/brokers/ids")]

    def _seen(self, tp: TopicPartition, up: set[int]) -> Seen:
        leader, isr = stored_state(self.cluster, tp)
        znode = self.cluster.world.ensemble.tree.find(f"/brokers/topics/{tp.topic}/partitions/{tp.partition}/state")
        return Seen(leader if leader in up else None, isr, self.places[tp], json.loads(znode.data)["leader_epoch"], znode.version)

    def _kill_one(self) -> None:
        up = self._up()
        victim = self.chance.choice(sorted(up))
        how: How = "shutdown" if self.chance.random() < STOPS else "death"
        was_controller = self.cluster.brokers[victim].services.controller.is_active
        before = {tp: self._seen(tp, up) for tp, replicas in self.places.items() if victim in replicas}
        fates = self._foretell(victim, how, up, before)
        if how == "death":
            self.cluster.kill(victim)
        else:
            self.cluster.stop(victim)
        left = self._up()
        if left:
            self._settle()
        self.outcome.kills += 1
        self.outcome.stops += how == "shutdown"
        self.outcome.last_ones += not left
        self.outcome.of_controllers += was_controller
        after = {tp: self._seen(tp, left) for tp in before}
        around = grading.Around(victim, frozenset(up - {victim}), frozenset(left))
        for tp, fate in fates.items():
            self._count(
                fate, grade(fate, before[tp], after[tp], around), f"seed {self.seed}, {how} {self.outcome.kills} of broker {victim}"
            )

    def _foretell(self, victim: int, how: How, up: set[int], before: dict[TopicPartition, Seen]) -> dict[TopicPartition, Fate]:
        unclean = {topic: allowed for topic, (_, allowed) in TOPICS.items()}
        around = Around(broker_id=victim, how=how, serving=frozenset(up), unclean=unclean)
        return {
            tp: fate_of(
                partition(tp.topic, tp.partition, leader=seen.leader, isr=seen.isr, assignment=seen.replicas, min_insync_replicas=2), around
            )
            for tp, seen in before.items()
        }

    def _count(self, fate: Fate, found: Grade, where: str) -> None:
        self.outcome.came[found.came] += 1
        self.outcome.becomes[fate.becomes] += 1
        told = {"wrong": self.outcome.wrong, "changed": self.outcome.changed}.get(found.came)
        if told is not None:
            told.append(f"{where}: {found.topic}-{found.partition}: {found.why}")


def run(seed: int, kills: int, *, restless: bool = False) -> Outcome:
    """The same seed, the same run."""
    return Foretold(seed, restless=restless).run(kills)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1-4", help="first-last")
    parser.add_argument("--kills", type=int, default=250, help="of each seed")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split("-"))
    logging.disable()
    total = Outcome()
    for seed in range(first, last + 1):
        total.add(run(seed, options.kills, restless=seed % 2 == 0))
        print(f"seeds {first}-{seed}: {total.kills} kills, {dict(total.came)}", flush=True)
    print(f"{total.stops} controlled shutdowns, {total.of_controllers} of the controller, {total.last_ones} of the last broker")
    print(f"foretold: {dict(total.becomes)}")
    print("\n".join(["wrong:", *total.wrong]))


if __name__ == "__main__":
    main()
