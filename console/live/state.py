"""The cluster as `live` knows it: facts in, changed values and events out. Pure: no I/O, `now_ms` is an argument.

Whatever changed marks a key dirty; `take` recomputes the dirty ones only, so work is proportional to change. Keys are those of the
snapshot and the websocket: `cluster`, `broker/1`, `topic/orders`, `partition/orders/3`, `group/g`, `lag/g/orders/3`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console.live import events
from console.live.counts import Counts
from console.live.groupbook import GroupBook
from console.live.partition import PartitionFacts, merge_partition
from console.live.rates import Rate
from console.snapshot import keys
from workers.rules.imbalance import skew
from workers.rules.partitions import LEVEL, SAFE, partition_sentence
from workers.rules.verdict import verdict

Value = dict[str, Any]
FEED_STALE_MS = 3_000
FEED_LOST_MS = 10_000
TOTALS = ("produced_bytes", "fetched_bytes", "messages_in")


class ClusterState:
    def __init__(self, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        self.controller: tuple[int | None, int | None] = (None, None)
        self.registered: dict[int, Value] | None = None
        self.topics: dict[str, Value] = {}
        self.facts: dict[tuple[str, int], PartitionFacts] = {}
        self.values: dict[tuple[str, int], Value] = {}
        self.counts = Counts()
        self.groups = GroupBook(self.values.get)
        self.heard_ms: dict[int, int] = {}
        self.said: dict[int, Value] = {}
        self.processes: dict[int, str] = {}
        self.since_ms: dict[int, int] = {}
        self._states: dict[int, str] = {}
        self._rates: dict[tuple[str, Any], Rate] = {}
        self._dirty_partitions: set[tuple[str, int]] = set()
        self._dirty_topics: set[str] = set()
        self._dirty_brokers: set[int] = set()
        self._dirty_cluster = True
        self._gone: set[str] = set()
        self._events: list[Value] = []
        self._feed_level: dict[int, str] = {}
        self._feeds_lost: set[int] = set()
        self._trouble: dict[tuple[str, int], str] = {}

    # --- what the brokers' feeds say

    def apply_batch(self, batch: Mapping[str, Any], now_ms: int) -> None:
        broker = batch["broker_id"]
        self.heard_ms[broker] = now_ms
        if batch.get("full"):
            self._forget_claims(broker, {(p["topic"], p["partition"]) for p in batch.get("partitions") or []})
            self.groups.keep_only(broker, {g["group"] for g in batch.get("groups") or []})
        for claim in batch.get("partitions") or []:
            self._claim(broker, claim, batch.get("at_ms") or now_ms, now_ms)
        for gone in batch.get("removed") or []:
            self._drop_claim(broker, (gone["topic"], gone["partition"]))
        for claim in batch.get("groups") or []:
            self.groups.take(claim, broker, now_ms)
        for group in batch.get("removed_groups") or []:
            self.groups.drop(group, broker)
        if batch.get("broker"):
            self._broker_said(broker, batch["broker"], now_ms)

    def _claim(self, broker: int, claim: Value, at_ms: int, now_ms: int) -> None:
        tp = (claim["topic"], claim["partition"])
        if self.registered is not None and self.topics and claim["topic"] not in self.topics:
            return
        facts = self.facts.setdefault(tp, PartitionFacts(*tp))
        facts.claims[broker] = {**claim, "at_ms": min(at_ms, now_ms)}
        if claim.get("truncation"):
            cut = claim["truncation"]
            known = facts.truncated.get(broker)
            if known is None or (known["from"], known["to"]) != (cut["from"], cut["to"]):
                facts.truncated[broker] = {"from": cut["from"], "to": cut["to"], "at_ms": now_ms}
        self._dirty_partitions.add(tp)

    def _forget_claims(self, broker: int, keep: set[tuple[str, int]]) -> None:
        for tp in [tp for tp, facts in self.facts.items() if broker in facts.claims and tp not in keep]:
            self._drop_claim(broker, tp)

    def _drop_claim(self, broker: int, tp: tuple[str, int]) -> None:
        facts = self.facts.get(tp)
        if facts and facts.claims.pop(broker, None) is not None:
            self._dirty_partitions.add(tp)

    def _broker_said(self, broker: int, said: Value, now_ms: int) -> None:
        self.said[broker] = said
        for name in TOTALS:
            if said.get(name) is not None:
                self._rates.setdefault((name, broker), Rate()).add(now_ms, said[name])
        requests = said.get("requests")
        if requests is not None:
            for api, numbers in requests.items():
                self._rates.setdefault((f"api/{api}", broker), Rate()).add(now_ms, numbers.get("count") or 0)
            self._rates.setdefault(("requests", broker), Rate()).add(now_ms, sum(n.get("count") or 0 for n in requests.values()))
        if (
            self.registered is None
            and said.get("controller_id") is not None
            and (said.get("controller_epoch") or 0) >= (self.controller[1] or 0)
        ):
            self.set_controller(said["controller_id"], said.get("controller_epoch"), now_ms)
        self._dirty_brokers.add(broker)

    # --- what the coordination store, or a foreign cluster's metadata, says

    def set_controller(self, broker: int | None, epoch: int | None, now_ms: int) -> None:
        if (broker, epoch) == self.controller:
            return
        told = events.controller_event(self.controller[0], broker, epoch, self.alive(), now_ms)
        if told and self.registered is not None:
            self._events.append(told)
        self._dirty_brokers |= {b for b in (self.controller[0], broker) if b is not None}
        self.controller = (broker, epoch)
        self._dirty_cluster = True

    def set_brokers(self, brokers: Mapping[int, Value], now_ms: int) -> None:
        """`{id: {host, port, rack, epoch}}` of those registered now."""
        before, after = self.registered, dict(brokers)
        if before is not None:
            self._events += events.broker_events(before, after, now_ms)
        self.registered = after
        changed = set(after) ^ set(before or {})
        for broker in changed:
            self.since_ms[broker] = now_ms
        self._dirty_brokers |= changed | set(after)
        self._dirty_partitions |= {tp for tp, v in self.values.items() if changed & set(v["assignment"])}
        self._dirty_cluster = True

    def set_topic(self, name: str, topic: Mapping[str, Any], now_ms: int) -> None:
        """`{topic_id, internal, min_insync_replicas, unclean, partitions: {n: {replicas, adding, removing}}}`."""
        if name not in self.topics and self.registered is not None and self.values:
            self._events.append(
                events.event(
                    "topic_created", "notice", f"topic {name} was created with {len(topic['partitions'])} partitions.", now_ms, topic=name
                )
            )
        self.topics[name] = {k: v for k, v in topic.items() if k != "partitions"}
        for partition, assigned in topic["partitions"].items():
            facts = self.facts.setdefault((name, partition), PartitionFacts(name, partition))
            facts.assignment, facts.adding, facts.removing = (
                list(assigned["replicas"]),
                list(assigned["adding"]),
                list(assigned["removing"]),
            )
            self._dirty_partitions.add((name, partition))
        self._dirty_topics.add(name)

    def set_partition(self, topic: str, partition: int, leader: int, leader_epoch: int, isr: list[int]) -> None:
        facts = self.facts.setdefault((topic, partition), PartitionFacts(topic, partition))
        facts.store = (leader, leader_epoch, isr)
        self._dirty_partitions.add((topic, partition))

    def drop_topic(self, name: str, now_ms: int) -> None:
        if self.topics.pop(name, None) is None:
            return
        self._events.append(events.event("topic_deleted", "warn", f"topic {name} was deleted.", now_ms, topic=name))
        for tp in [tp for tp in self.facts if tp[0] == name]:
            del self.facts[tp]
            self._remove_value(tp)
        self._gone.add(keys.topic(name))
        self._dirty_topics.discard(name)

    def set_processes(self, processes: Mapping[int, str]) -> None:
        """`{id: running|paused|stopped}` of local brokers."""
        for broker in processes.keys() | self.processes.keys():
            if processes.get(broker) != self.processes.get(broker):
                self._dirty_brokers.add(broker)
        self.processes = dict(processes)

    # --- time

    def tick(self, now_ms: int) -> None:
        """Once a second: ages, rates and lag in seconds move although nothing was said."""
        self._watch_feeds(now_ms)
        for name in self.topics:
            rate = self._rates.setdefault(("topic", name), Rate())
            before = rate.per_s()
            rate.add(now_ms, self.counts.get("topic", name, "end_sum"))
            if rate.per_s() != before:
                self._dirty_topics.add(name)
        for tp in self._trouble:
            self._dirty_partitions.add(tp)
        self.groups.tick(now_ms)
        self._dirty_brokers |= self.known_brokers()
        self._dirty_cluster = True

    def _watch_feeds(self, now_ms: int) -> None:
        for broker, heard in self.heard_ms.items():
            level = feed_level(now_ms - heard)
            was = self._feed_level.get(broker, "live")
            if level != was and broker in self.alive():
                if level == "lost":
                    self._feeds_lost.add(broker)
                    text = (
                        f"broker {broker} is registered, but its feed is silent for {(now_ms - heard) / 1000:.0f} s: its figures are old."
                    )
                    self._events.append(events.event("feed_lost", "warn", text, now_ms, broker_id=broker))
                elif level == "live" and broker in self._feeds_lost:
                    self._feeds_lost.discard(broker)
                    self._events.append(events.event("feed_back", "ok", f"broker {broker}'s state feed is back.", now_ms, broker_id=broker))
            if ("lost" in (level, was)) and level != was:
                self._dirty_partitions |= {tp for tp, facts in self.facts.items() if broker in facts.claims}
            self._feed_level[broker] = level

    # --- views of it

    def alive(self) -> set[int]:
        return set(self.registered) if self.registered is not None else set(self._heard(FEED_LOST_MS))

    def _heard(self, _limit_ms: int) -> set[int]:
        return {b for b in self.heard_ms if self._feed_level.get(b, "live") != "lost"}

    def known_brokers(self) -> set[int]:
        return self.alive() | set(self.heard_ms) | set(self.processes) | set(self.since_ms)

    def take(self, now_ms: int) -> tuple[dict[str, Value | None], list[Value]]:
        """What changed since the last take: absolute values by key (None = gone), and events."""
        changed: dict[str, Value | None] = dict.fromkeys(self._gone)
        self._gone = set()
        told = self._recompute_partitions(changed, now_ms)
        for key, value, event in self.groups.take_changes(now_ms):
            changed[key] = value
            told += [event] if event else []
        for topic in sorted(self._dirty_topics):
            if topic in self.topics or self.counts.get("topic", topic, "partitions"):
                changed[keys.topic(topic)] = self._topic_value(topic)
        for broker in sorted(self._dirty_brokers):
            changed[keys.broker(broker)] = self._broker_value(broker, now_ms)
        if self._dirty_cluster or self._dirty_topics or self._dirty_brokers:
            changed[keys.CLUSTER] = self.cluster_value(now_ms)
        self._dirty_topics, self._dirty_brokers, self._dirty_cluster = set(), set(), False
        told, self._events = self._events + told, []
        return changed, events.condense(told)

    def everything(self, now_ms: int) -> dict[str, Value]:
        """All values, for a reader that knows nothing."""
        values: dict[str, Value] = {keys.partition(*tp): value for tp, value in self.values.items()}
        values |= {keys.topic(name): self._topic_value(name) for name in self.topics}
        values |= {keys.broker(b): self._broker_value(b, now_ms) for b in self.known_brokers()}
        values |= {keys.group(group): value for group, value in self.groups.values.items()}
        values |= {keys.lag(group, *tp): row for group, rows in self.groups.rows.items() for tp, row in rows.items()}
        return {**values, keys.CLUSTER: self.cluster_value(now_ms)}

    def _recompute_partitions(self, changed: dict[str, Value | None], now_ms: int) -> list[Value]:
        told: list[Value] = []
        heard, alive = self._heard(FEED_LOST_MS), self.alive()
        dirty, self._dirty_partitions = self._dirty_partitions, set()
        for tp in sorted(dirty):
            facts = self.facts.get(tp)
            if facts is None or not (facts.assignment or facts.claims):
                self.facts.pop(tp, None)
                self._remove_value(tp)
                continue
            if facts.store is None and not facts.claims:
                continue
            before = self.values.get(tp)
            after = merge_partition(facts, heard & alive, alive, self.topics.get(tp[0], {}).get("min_insync_replicas"), now_ms)
            if before is not None and _same(before, after):
                continue
            told += events.partition_events(before, after, alive)
            self._put_value(tp, before, after)
            changed[keys.partition(*tp)] = after
        for key in self._gone:
            changed[key] = None
        self._gone = set()
        return told

    def _put_value(self, tp: tuple[str, int], before: Value | None, after: Value) -> None:
        self.values[tp] = after
        self._touch(self.counts.replace(before, after))
        self.groups.partition_changed(tp)
        if after["state"] == SAFE:
            self._trouble.pop(tp, None)
        else:
            self._trouble[tp] = after["state"]

    def _remove_value(self, tp: tuple[str, int]) -> None:
        before = self.values.pop(tp, None)
        self._trouble.pop(tp, None)
        if before is not None:
            self._touch(self.counts.replace(before, None))
            self._gone.add(keys.partition(*tp))

    def _touch(self, touched: set[tuple[str, Any]]) -> None:
        for scope, identity in touched:
            if scope == "topic":
                self._dirty_topics.add(identity)
            elif scope == "broker":
                self._dirty_brokers.add(identity)
            else:
                self._dirty_cluster = True

    def _topic_value(self, name: str) -> Value:
        topic = self.topics.get(name, {})
        count = lambda counter: self.counts.get("topic", name, counter)  # noqa: E731
        first = next((self.values[tp] for tp in ((name, 0),) if tp in self.values), None)
        rate = self._rates.get(("topic", name))
        return {
            "topic": name,
            "topic_id": topic.get("topic_id"),
            "internal": bool(topic.get("internal", name.startswith("__"))),
            "partitions": count("partitions"),
            "replication_factor": len(first["assignment"]) if first else None,
            "under_replicated": count("under_replicated"),
            "under_min_isr": count("under_min_isr"),
            "offline": count("offline"),
            "out_of_sync_replicas": count("out_of_sync_replicas"),
            "min_insync_replicas": topic.get("min_insync_replicas"),
            "unclean": topic.get("unclean"),
            "size_bytes": count("size_bytes"),
            "messages": count("messages"),
            "messages_per_s": rate.per_s() if rate else None,
            "groups": self.groups.reading(name),
        }

    def _broker_value(self, broker: int, now_ms: int) -> Value:
        count = lambda counter: self.counts.get("broker", broker, counter)  # noqa: E731
        known = (self.registered or {}).get(broker, {})
        said = self.said.get(broker, {})
        alive = self.alive()
        return {
            "broker_id": broker,
            "host": known.get("host"),
            "port": known.get("port"),
            "rack": known.get("rack"),
            "state": "online" if broker in alive else "offline",
            "process": self.processes.get(broker),
            "is_controller": broker == self.controller[0],
            "broker_epoch": known.get("epoch"),
            "leaders": count("leaders"),
            "preferred": count("preferred"),
            "replicas": count("replicas"),
            "out_of_sync": count("out_of_sync"),
            "under_replicated": count("under_replicated"),
            "size_bytes": count("size_bytes"),
            "bytes_in_per_s": self._rate("produced_bytes", broker),
            "bytes_out_per_s": self._rate("fetched_bytes", broker),
            "messages_in_per_s": self._rate("messages_in", broker),
            "requests": {
                api: {"per_s": self._rate(f"api/{api}", broker), "p50_ms": n.get("p50_ms"), "p99_ms": n.get("p99_ms")}
                for api, n in sorted((said.get("requests") or {}).items())
            },
            "purgatory": said.get("purgatory"),
            "produce_by_acks": said.get("produce_by_acks"),
            "leader_skew": skew(count("leaders"), {b: self.counts.get("broker", b, "leaders") for b in alive}) if broker in alive else None,
            "replica_skew": skew(count("replicas"), {b: self.counts.get("broker", b, "replicas") for b in alive})
            if broker in alive
            else None,
            "feed": self._feed(broker, now_ms),
            "since_ms": self.since_ms.get(broker),
            "at_ms": now_ms,
        }

    def _rate(self, name: str, broker: int) -> float | None:
        rate = self._rates.get((name, broker))
        return rate.per_s() if rate and broker in self._heard(FEED_LOST_MS) & self.alive() else None

    def _feed(self, broker: int, now_ms: int) -> Value:
        heard = self.heard_ms.get(broker)
        if heard is None:
            return {"state": "lost", "age_ms": None}
        return {"state": feed_level(now_ms - heard), "age_ms": max(now_ms - heard, 0)}

    def _sum(self, name: str) -> float | None:
        rates = [rate for broker in self.alive() if (rate := self._rate(name, broker)) is not None]
        return round(sum(rates), 1) if rates else None

    def cluster_value(self, now_ms: int) -> Value:
        alive, known = self.alive(), self.known_brokers()
        count = lambda counter: self.counts.get("cluster", None, counter)  # noqa: E731
        value: Value = {
            "id": self.cluster_id,
            "controller_id": self.controller[0],
            "controller_epoch": self.controller[1],
            "brokers_online": len(alive),
            "brokers_total": len(known),
            "topics": len(self.topics) or len({topic for topic, _ in self.values}),
        }
        names = ("partitions", "under_replicated", "under_min_isr", "offline", "out_of_sync_replicas", "not_preferred")
        value |= {name: count(name) for name in names}
        value |= {
            "groups": len(self.groups.groups),
            "produce_bytes_per_s": self._sum("produced_bytes"),
            "fetch_bytes_per_s": self._sum("fetched_bytes"),
            "messages_per_s": self._sum("messages_in"),
            "requests_per_s": self._sum("requests"),
            "verdict": verdict(value, sorted(known - alive), self.groups.values_behind(), self._worst()),
            "feed": self._feeds(alive, now_ms),
            "at_ms": now_ms,
        }
        return value

    def _feeds(self, alive: set[int], now_ms: int) -> Value:
        feeds = {str(b): self._feed(b, now_ms) for b in sorted(alive)}
        live = [f for f in feeds.values() if f["state"] == "live"]
        state = "live" if live and len(live) == len(feeds) else "partial" if live else "lost"
        return {"state": state, "brokers": feeds}

    def _worst(self) -> Value | None:
        if not self._trouble:
            return None
        order = {"bad": 0, "warn": 1}
        tp = min(self._trouble, key=lambda tp: (order.get(LEVEL[self._trouble[tp]], 2), tp))
        value = self.values[tp]
        missing = [b for b in value["assignment"] if b not in value["isr"]]
        sentence = partition_sentence(f"{tp[0]}-{tp[1]}", value["state"], missing, value["min_insync_replicas"])
        return {"topic": tp[0], "sentence": sentence}


def feed_level(silent_ms: int) -> str:
    return "live" if silent_ms <= FEED_STALE_MS else "stale" if silent_ms <= FEED_LOST_MS else "lost"


def _same(before: Value, after: Value) -> bool:
    """Equal but for the moment they were made at."""
    return all(before[name] == after[name] for name in before if name != "at_ms")
