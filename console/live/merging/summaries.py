"""What is said of a topic, a broker and the cluster as a whole, from the sums that are kept. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.contract import feed, live, partitions
from broker_core.contract.stored import Topic
from console.rules.disk import judged
from console.rules.imbalance import leader_skew, skew
from console.rules.list_lines import groups_line, topics_line
from console.rules.partitions import deletion_words, worst_state
from console.rules.settings.kept import kept
from console.rules.topic_words import topic_sentence
from console.rules.verdict import Silence, unanswered, verdict

if TYPE_CHECKING:
    from console.live.merging.state import ClusterState

TROUBLES = ("under_replicated", "under_min_isr", "offline", "out_of_sync_replicas", "starting", "unknown")
TOPIC_COUNTS = ("partitions", *TROUBLES, "unmeasured")
BROKER_COUNTS = ("leaders", "preferred", "replicas", "out_of_sync", "under_replicated", "unmeasured")
CLUSTER_COUNTS = ("partitions", *TROUBLES, "not_preferred", "deleting")


def topic_value(state: ClusterState, name: str) -> partitions.Topic:
    topic = state.topics.get(name) or Topic(None, name.startswith("__"), None, None, {})
    first = state.values.get((name, 0))
    counts = {counter: state.counts.get("topic", name, counter) for counter in TOPIC_COUNTS}
    going = deletion(state, name) if name in state.deleting else None
    return partitions.Topic(
        topic=name,
        topic_id=topic.topic_id,
        internal=topic.internal,
        state=worst_state(counts, deleting=name in state.deleting),
        sentence=topic_sentence(counts | {"under_min_isr_moving": state.counts.get("topic", name, "under_min_isr_moving")}, going),
        **counts,
        **_measured(state, "topic", name, "partitions", "size_bytes", "messages"),
        troubled=state.troubled.of(name),
        replication_factor=len(first.assignment) if first else None,
        min_insync_replicas=topic.min_insync_replicas,
        unclean=topic.unclean,
        deleting=going,
        messages_per_s=state.rates.per_s("topic", name),
        groups=state.groups.reading(name),
        lag=state.groups.unread.of(name),
        leader_skew=_leader_skew(state, name),
        own_settings=kept(topic.settings),
    )


def _leader_skew(state: ClusterState, name: str) -> float | None:
    alive = state.alive()
    return leader_skew([state.counts.get("leads", (name, broker), "leaders") for broker in alive], len(alive))


def _measured(state: ClusterState, scope: str, whose: str | int, of: str, *names: str) -> dict[str, int | None]:
    """Sums over the logs whose leaders tell of them: at least so much is there. None where no leader tells of any."""
    count = state.counts.get
    told = count(scope, whose, "unmeasured") < count(scope, whose, of) or not count(scope, whose, of)
    return {name: count(scope, whose, name) if told else None for name in names}


def deletion(state: ClusterState, name: str) -> partitions.Deletion:
    """What the deletion of a topic waits for."""
    topic = state.topics.get(name)
    holders, alive, moving = topic.brokers() if topic else set(), state.alive(), topic is not None and topic.is_moving()
    offline = sorted(broker for broker in holders & alive if (said := state.said.get(broker)) and _none_serves(said))
    dead = sorted(holders - alive)
    return partitions.Deletion(tuple(sorted([*dead, *offline])), moving, f"{name} {deletion_words(dead, moving=moving, offline=offline)}")


def broker_value(state: ClusterState, broker: int, now_ms: int) -> live.Broker:
    known, said = (state.registered or {}).get(broker), state.said.get(broker)
    alive = state.alive()
    online = broker in alive
    heard = said if online and broker in state.feeds.believed() else None
    figures = _rates(state, broker, heard) | _measured(state, "broker", broker, "replicas", "size_bytes")
    figures |= {counter: state.counts.get("broker", broker, counter) for counter in BROKER_COUNTS}
    return live.Broker(
        broker_id=broker,
        host=known.host if known else None,
        port=known.port if known else None,
        rack=known.rack if known else None,
        state="online" if online else "offline",
        process=state.processes.get(broker),
        is_controller=broker == state.controller[0],
        broker_epoch=known.epoch if known else None,
        **figures,
        purgatory=heard.purgatory if heard else None,
        purgatory_expired=heard.purgatory_expired if heard else None,
        controller=heard.controller if heard else None,
        connections=heard.connections if heard else None,
        idle_percent=heard.idle_percent if heard else None,
        loop_stalls=heard.loop_stalls if heard else None,
        produce_by_acks=said.produce_by_acks if said else None,
        log_dir=log_dir(state, broker),
        other_log_dirs=_other_log_dirs(state, broker),
        leader_skew=_skew(state, broker, "leaders", alive) if online else None,
        replica_skew=_skew(state, broker, "replicas", alive) if online else None,
        feed=state.feeds.age(broker, now_ms),
        since_ms=state.since_ms.get(broker),
        at_ms=now_ms,
        own_settings=kept(state.broker_settings.get(broker)),
        timing_wheels=heard.timing_wheels if heard else None,
        old_requests=said.old_requests if said else None,
        gone_by=(known.gone_by or None) if known else None,
    )


def log_dir(state: ClusterState, broker: int) -> live.LogDir | None:
    """What a broker that is there last said of its data folder, and the rules' word on it; None of one that does not run or tell."""
    if broker not in state.alive():
        return None
    said = state.said.get(broker)
    folder = said.log_dir if said else state.folders.get(broker)
    if said and said.other_log_dirs:
        return judged(broker, said.log_dir, said.log_dir.logs, of_several=True)
    return judged(broker, folder, state.counts.get("broker", broker, "replicas")) if folder else None


def _other_log_dirs(state: ClusterState, broker: int) -> tuple[live.LogDir, ...]:
    said = state.said.get(broker)
    others = said.other_log_dirs if said and broker in state.alive() else ()
    return tuple(judged(broker, folder, folder.logs, of_several=True) for folder in others)


def _none_serves(said: feed.Broker) -> bool:
    return all(folder.offline_since_ms is not None for folder in (said.log_dir, *said.other_log_dirs))


def _rates(state: ClusterState, broker: int, said: feed.Broker | None) -> dict[str, Any]:
    """Nobody knows the rates of a broker that is not heard."""
    rate, mean = state.rates.per_s, state.rates.mean
    if said is None:
        return {"bytes_in_per_s": None, "bytes_out_per_s": None, "messages_in_per_s": None, "requests": {}}
    return {
        "bytes_in_per_s": rate("produced_bytes", broker),
        "bytes_out_per_s": rate("fetched_bytes", broker),
        "messages_in_per_s": rate("messages_in", broker),
        "requests": {
            api: live.RequestFigures(
                rate(f"api/{api}", broker),
                numbers.p50_ms,
                numbers.p99_ms,
                _means(numbers),
                mean(f"spent/{api}", f"api/{api}", broker),
            )
            for api, numbers in sorted(said.requests.items())
        },
    }


def _means(numbers: feed.Requests) -> feed.StagesMs | None:
    if not numbers.count:
        return None
    return feed.StagesMs(*(round(getattr(numbers.stages_ms, stage) / numbers.count, 3) for stage in feed.StagesMs.__struct_fields__))


def _skew(state: ClusterState, broker: int, counter: str, alive: set[int]) -> float | None:
    return skew(state.counts.get("broker", broker, counter), {b: state.counts.get("broker", b, counter) for b in alive})


def _silences(state: ClusterState, now_ms: int) -> list[Silence]:
    """Of those registered that are not heard."""
    count = state.counts.get
    asked = state.questions is not None
    return [
        Silence(broker, None if ms is None else ms / 1000, count("broker", broker, "leaders"), count("broker", broker, "replicas"), asked)
        for broker, ms in state.silent(now_ms).items()
    ]


def cluster_value(state: ClusterState, now_ms: int) -> live.Cluster:
    alive, known = state.alive(), state.known_brokers()
    heard, dead = alive & state.feeds.believed(), sorted(known - alive)
    counts = {counter: state.counts.get("cluster", None, counter) for counter in CLUSTER_COUNTS}
    counts |= {"brokers_online": len(alive), "brokers_total": len(known)}
    silent = _silences(state, now_ms)
    behind = state.groups.values_behind()
    away = state.store_is_away(now_ms)
    found = verdict(
        counts | {"under_min_isr_moving": state.counts.get("cluster", None, "under_min_isr_moving")},
        dead,
        behind,
        state.partitions.worst(),
        {name: deletion(state, name) for name in state.deleting & state.topics.keys()},
        store_is_away=away and state.questions is None,
        folders=[folder for broker in sorted(alive) if (folder := log_dir(state, broker))],
        silent=silent,
    )
    asked = state.questions
    if asked and (away or not known):
        found = unanswered(found, asked.error("metadata"), asked.last_ms("metadata"))
    topics = len(state.topics) or len({topic for topic, _ in state.values})
    is_answered = found.level != "unknown"
    groups = len(state.groups.groups)
    told_behind = sum(group.attention is not None for group in behind)
    seen = counts if known else {**counts, "brokers_online": None, "brokers_total": None}
    return live.Cluster(
        id=state.cluster_id,
        source="collector" if asked else "feed",
        questions=asked.value(now_ms) if asked else None,
        controller_id=state.controller[0],
        controller_epoch=state.controller[1],
        **seen,
        topics=topics,
        troubled_topics=len(state.troubled),
        topics_line=topics_line(topics, len(state.troubled), counts, is_answered=is_answered, unheard=any(one.hosts for one in silent)),
        groups=groups,
        groups_behind=None if state.groups.unknown else told_behind,
        groups_line=groups_line(groups, told_behind, unknown=len(state.groups.unknown), is_heard=is_answered and not silent),
        produce_bytes_per_s=state.rates.sum("produced_bytes", heard),
        fetch_bytes_per_s=state.rates.sum("fetched_bytes", heard),
        messages_per_s=state.rates.sum("messages_in", heard) if asked is None else state.rates.sum("topic", state.topics),
        requests_per_s=state.rates.sum("requests", heard),
        verdict=found,
        feed=state.parts(now_ms),
        at_ms=now_ms,
    )
