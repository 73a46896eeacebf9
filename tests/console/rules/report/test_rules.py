"""The rules of the health report, one by one: what makes each ok, worse and unknown."""

from __future__ import annotations

from dataclasses import replace as other
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from broker_core.contract import feed
from broker_core.contract.groups import Group, Lag
from broker_core.contract.live import Age, Broker, SilentClient
from broker_core.contract.partitions import Topic
from console.rules.disk import judged
from console.rules.report import Facts, report
from console.rules.report.facts import Happened, Lags, Logs, PartitionLog, Shrinks, Throttling
from console.rules.report.rules import RULES
from tests.support.live_rows import partition, some

GIB = 1 << 30
NOW_MS = 1_769_860_800_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
DISK = judged(1, feed.LogDir("/data", free_bytes=50 * GIB, total_bytes=100 * GIB, checkpoints_late_s=0), 3)
FRESH = Age("live", 100, NOW_MS)


def broker(number: int, **known: Any) -> Broker:
    whole = {"leaders": 4, "preferred": 4, "replicas": 12, "size_bytes": 5 * GIB, "unmeasured": 0, "produce_by_acks": {"-1": 9}}
    more = {"state": "online", "own_settings": {}, "log_dir": DISK, "other_log_dirs": (), "feed": FRESH, "old_requests": ()}
    return some(Broker, **{"broker_id": number, **whole, **more, **known})


def topic(name: str = "orders", **known: Any) -> Topic:
    safe = {"internal": False, "replication_factor": 3, "min_insync_replicas": 2, "unclean": False, "own_settings": {}}
    return some(Topic, **{"topic": name, **safe, **known})


def lag(**known: Any) -> Lag:
    row = {"group": "billing", "topic": "orders", "partition": 3, "committed": 100, "lag": 50, "lag_s": 10.0, "lag_basis": "record"}
    return some(Lag, **{**row, **known})


def group(name: str = "billing", **known: Any) -> Group:
    row = {"topics": ("orders",), "lag": 0, "trend": "caught_up", "members": ()}
    return some(Group, **{"group": name, **row, **known})


WATCHED = Happened(NOW_MS - DAY_MS)
FINE = Facts(
    now_ms=NOW_MS,
    brokers=[broker(n) for n in (1, 2, 3)],
    topics=[topic()],
    groups=[group()],
    logs=Logs([PartitionLog("orders", n, GIB, 0) for n in range(4)]),
    lags=Lags([]),
    happened=WATCHED,
)


def check(identity: str, **known: Any) -> dict[str, Any]:
    made = report(other(FINE, **known))
    found: dict[str, Any] = next(one for one in made["checks"] if one["id"] == identity)
    return found


def test_a_cluster_that_is_fine() -> None:
    made = report(FINE)
    assert (made["level"], made["sentence"]) == ("ok", f"All {len(RULES)} rules found nothing.")
    assert {one["level"] for one in made["checks"]} == {"ok"}


def test_of_nothing_known_no_rule_that_judges_figures_is_ok() -> None:
    made = report(Facts())
    assert made["level"] == "unknown"
    ok = {one["id"] for one in made["checks"] if one["level"] == "ok"}
    assert ok <= {"offline", "under_min_isr", "at_min_isr", "under_replicated", "unknown", "lag", "no_loss", "clients"}, (
        "what is judged by a list of what there is finds nothing in an empty one"
    )
    assert "could not be judged; the others found nothing" in made["sentence"]


def test_numbers_and_names_are_given_once() -> None:
    assert len({rule.number for rule in RULES}) == len({rule.identity for rule in RULES}) == len(RULES)
    page = (Path(__file__).parents[4] / "docs" / "health.md").read_text(encoding="utf-8")
    assert all(f"| {rule.number} {rule.title} | `{rule.identity}` |" in page for rule in RULES)


OF_PARTITIONS = {"assignment": (1, 2, 3), "min_insync_replicas": 2}


@pytest.mark.parametrize(
    ("identity", "state", "isr", "level"),
    [
        ("offline", "offline", (), "bad"),
        ("under_min_isr", "under_min_isr", (1,), "bad"),
        ("at_min_isr", "under_replicated", (1, 2), "warn"),
        ("under_replicated", "under_replicated", (1, 2), "warn"),
        ("unknown", "unknown", (1, 2), "warn"),
    ],
)
def test_partitions(identity: str, state: str, isr: tuple[int, ...], level: str) -> None:
    found = check(identity, trouble=[partition("orders", 3, state, isr=isr, **OF_PARTITIONS)])
    assert (found["level"], found["count"]) == (level, 1)
    one = found["findings"][0]
    assert (one["key"], one["href"]) == ("orders-3", "/topics/orders/3")
    assert "orders-3" in one["sentence"]
    assert "of 1, 2, 3" in one["evidence"]
    assert one["advice"]


def test_one_more_replica_than_the_minimum_is_not_the_edge() -> None:
    found = partition("orders", 3, "under_replicated", isr=(1, 2, 4), assignment=(1, 2, 3, 4), min_insync_replicas=2)
    assert check("at_min_isr", trouble=[found])["level"] == "ok"
    assert check("at_min_isr", trouble=[replace(found, min_insync_replicas=None)])["level"] == "unknown"


@pytest.mark.parametrize("identity", ["offline", "under_min_isr", "at_min_isr", "under_replicated"])
def test_a_partition_with_a_silent_leader_may_be_in_any_state(identity: str) -> None:
    found = check(identity, trouble=[partition("orders", 3, "unknown")])
    assert (found["level"], found["sentence"]) == ("unknown", "Unknown, because the leader of 1 partition is silent (HW-005).")


def test_brokers_that_are_away() -> None:
    away = [broker(1), broker(2, state="offline"), broker(3, feed=Age("lost", None, None))]
    found = check("brokers", brokers=away)
    assert [one["sentence"] for one in found["findings"]] == ["Broker 2 is down.", "Broker 3 is registered and silent."]
    assert check("brokers", brokers=[])["level"] == "unknown"


@pytest.mark.spec("O3")
def test_leader_balance() -> None:
    found = check("leader_imbalance", brokers=[broker(7, leaders=0, preferred=3), broker(8, leaders=4), broker(9, leaders=2)])
    assert [(one["key"], one["level"], one["href"]) for one in found["findings"]] == [
        ("broker 7", "notice", "/jobs/new/elect"),
        ("broker 9", "notice", "/jobs/new/elect"),
    ]
    assert found["findings"][0]["sentence"] == "Broker 7 leads nothing."
    assert check("leader_imbalance", brokers=[broker(7, leaders=None)])["level"] == "unknown"


@pytest.mark.parametrize(
    ("identity", "field", "even", "much", "little"),
    [("replica_imbalance", "replicas", 12, 40, 1), ("disk_imbalance", "size_bytes", 5 * GIB, 50 * GIB, GIB)],
)
def test_balance_between_brokers(identity: str, field: str, even: int, much: int, little: int) -> None:
    def of(*counts: int | None) -> dict[str, Any]:
        return check(identity, brokers=[broker(n, **{field: count}) for n, count in enumerate(counts, 1)])

    assert of(even, even, even)["level"] == "ok"
    found = of(much, even, little)
    assert found["level"] == "notice"
    assert [one["key"] for one in found["findings"]] == ["broker 1", "broker 2", "broker 3"][:: 2 if identity == "replica_imbalance" else 1]
    assert of(much, even, None)["level"] == "unknown"
    assert of(2, 1, 0)["level"] == "ok", "a few trouble nobody"


def test_bytes_that_not_all_are_told_of_are_no_share() -> None:
    assert check("disk_imbalance", brokers=[broker(1, unmeasured=1), broker(2, size_bytes=90 * GIB)])["level"] == "unknown"


def test_isr_flapping() -> None:
    shrinks = [Shrinks(2, "orders", 3, 3, NOW_MS), Shrinks(1, "orders", 0, 2, NOW_MS), Shrinks(3, "", None, 5, NOW_MS)]
    found = check("isr_flaps", happened=WATCHED._replace(shrinks=shrinks))
    assert [(one["sentence"], one["href"]) for one in found["findings"]] == [
        ("Broker 2 leaves the ISR of orders-3 again and again.", "/topics/orders/3"),
        ("Broker 3 leaves the ISRs of many partitions again and again.", "/brokers/3"),
    ]
    assert found["level"] == "warn"


@pytest.mark.parametrize(("moves", "level"), [(2, "ok"), (3, "warn"), (9, "warn"), (10, "bad")])
def test_controller_churn(moves: int, level: str) -> None:
    assert check("controller_churn", happened=WATCHED._replace(controller_moves=moves))["level"] == level


@pytest.mark.parametrize("identity", ["isr_flaps", "controller_churn"])
def test_again_and_again_is_not_judged_in_the_first_minutes(identity: str) -> None:
    found = check(identity, happened=Happened(NOW_MS - 180_000))
    assert found["sentence"].replace("\u202f", " ") == "Unknown, because it has been watched for 3 min only."
    assert check(identity, happened=None)["level"] == "unknown"


def test_a_partition_that_is_far_larger_than_the_others() -> None:
    def sizes(*counts: int | None, name: str = "orders") -> Logs:
        return Logs([PartitionLog(name, n, count, 0) for n, count in enumerate(counts)])

    found = check("partition_skew", logs=sizes(20 * GIB, GIB, GIB, GIB))
    assert [(one["key"], one["level"], one["href"]) for one in found["findings"]] == [("orders-0", "notice", "/topics/orders")]
    assert check("partition_skew", logs=sizes(2 * GIB, GIB, GIB, GIB))["level"] == "ok"
    assert check("partition_skew", logs=sizes(1000, 1, 1, 1))["level"] == "ok", "small ones trouble nobody"
    assert check("partition_skew", logs=sizes(20 * GIB, 1, 1, 1, name="__consumer_offsets"))["level"] == "ok"
    assert check("partition_skew", logs=sizes(20 * GIB, GIB, None, GIB))["level"] == "unknown"
    assert check("partition_skew", logs=None)["level"] == "unknown"
    left = check("partition_skew", logs=sizes(GIB, GIB)._replace(skipped=3))
    assert left["sentence"] == "Nothing found (3 smaller topics not looked at)."


@pytest.mark.parametrize(("attention", "level"), [(None, "ok"), ("notice", "notice"), ("warn", "warn")])
def test_group_lag(attention: str | None, level: str) -> None:
    found = check("lag", groups=[group(lag=5, lag_s=30.0, lag_basis="record", trend="falling_behind", attention=attention)])
    assert found["level"] == level
    for one in found["findings"]:
        assert one["sentence"] == "Group billing is behind."
        assert one["evidence"].replace("\u202f", " ") == "5 records, 30 s late; falling behind."


def test_a_group_of_unknown_lag_is_unknown() -> None:
    assert check("lag", groups=[group(lag=None)])["sentence"] == "Unknown, because how far 1 group is behind is not known."
    assert check("lag", groups=[group(lag=None, topics=())])["level"] == "ok"


# --- loss ahead


def ahead(own: dict[str, str] | None = None, *, unset: bool = False, start: int | None = 0, **row: Any) -> dict[str, Any]:
    topics = [topic(own_settings=None if unset else own or {})]
    return check("loss_ahead", topics=topics, logs=Logs([PartitionLog("orders", 3, GIB, start)]), lags=Lags([lag(**row)]))


def test_records_that_were_deleted_unread() -> None:
    found = ahead({"retention.ms": str(DAY_MS)}, start=130)
    one = found["findings"][0]
    assert (found["level"], one["key"], one["href"]) == ("bad", "billing on orders-3", "/groups/billing")
    assert one["sentence"] == "billing has lost records of orders-3: they were deleted before it read them."
    assert one["evidence"] == "It has committed 100, and the log begins 30 offsets later."
    assert ahead(start=130, lag=0)["level"] == "ok", "who has read everything has lost nothing by it"


def test_records_that_retention_will_delete() -> None:
    """The time of the earliest deletion is that of the next record and the retention."""
    own = {"retention.ms": str(DAY_MS)}
    found = ahead(own, lag_s=23.5 * 3600)
    assert found["level"] == "bad"
    evidence = found["findings"][0]["evidence"].replace("\u202f", " ")
    assert evidence == "Its next record may be deleted from 31 Jan 12:30 UTC on, at the earliest; it is 24 h old, and retention.ms is 24 h."
    assert ahead(own, lag_s=20 * 3600.0)["level"] == "warn"
    assert "from about 31 Jan" in ahead(own, lag_s=23.5 * 3600, lag_basis="estimate")["findings"][0]["evidence"]
    assert "at any moment" in ahead(own, lag_s=25 * 3600.0)["findings"][0]["evidence"]


@pytest.mark.parametrize(
    ("own", "lag_s"),
    [
        ({"retention.ms": str(DAY_MS)}, 11 * 3600.0),
        ({"retention.ms": str(7 * DAY_MS)}, 5 * 24 * 3600.0),
        ({"retention.ms": "-1"}, 90 * 24 * 3600.0),
        ({"cleanup.policy": "compact"}, 90 * 24 * 3600.0),
        ({}, 60.0),
    ],
    ids=["half is left", "a day is left", "kept for good", "compacted", "young under a default"],
)
def test_no_loss_is_ahead(own: dict[str, str], lag_s: float) -> None:
    assert ahead(own, lag_s=lag_s)["level"] == "ok"


@pytest.mark.parametrize(
    ("known", "why"),
    [
        ({"own": {}, "lag_s": 7200.0}, "retention.ms, and that of the brokers is not told"),
        ({"unset": True, "lag_s": 7200.0}, "retention.ms, and that of the brokers is not told"),
        ({"own": {"retention.ms": "3600000"}, "lag_s": None}, "how old the next unread record is is not known"),
        ({"own": {"retention.ms": "3600000"}, "lag_s": 60.0, "lag_basis": "at_least"}, "how old the next unread record is is not known"),
        ({"own": {"retention.ms": "3600000"}, "start": None}, "where the log begins is not told"),
    ],
)
def test_a_loss_that_cannot_be_computed_is_unknown(known: dict[str, Any], why: str) -> None:
    found = ahead(**known)
    assert found["level"] == "unknown"
    assert why in found["unknown"]


def test_groups_that_were_not_looked_at_are_told() -> None:
    assert "2 groups behind were not looked at" in check("loss_ahead", lags=Lags([], skipped=2))["unknown"]
    assert "where 1 group stands is not known" in check("loss_ahead", lags=Lags([], unknown=1))["unknown"]
    assert check("loss_ahead", lags=None)["level"] == "unknown"


# --- throttles, settings, clients


def test_throttles_that_nobody_owns() -> None:
    rates = {"leader.replication.throttled.rate": "1048576"}
    lists = {"follower.replication.throttled.replicas": "0:1,0:2"}
    known = {"brokers": [broker(1, own_settings=rates), broker(2)], "topics": [topic(own_settings=lists)]}
    found = check("throttles", **known)
    assert found["level"] == "warn"
    assert [(one["key"], one["href"]) for one in found["findings"]] == [
        ("broker 1", "/jobs/throttles"),
        ("orders", "/jobs/throttles"),
    ]
    evidence = found["findings"][0]["evidence"].replace("\u202f", " ")
    assert evidence == "leader.replication.throttled.rate is 1.00 MiB/s."
    assert found["findings"][1]["evidence"] == "follower.replication.throttled.replicas names 2 replicas."
    owned = [Throttling(7, frozenset({1}), frozenset({"orders"}))]
    assert check("throttles", **known, throttling=owned)["level"] == "ok"


def test_a_throttle_while_somebody_else_moves_partitions_may_be_theirs() -> None:
    moving = feed.Controller(queue_size=0, queue_time_max_ms=0, partitions_moving=2)
    rates = {"leader.replication.throttled.rate": "1"}
    found = check("throttles", brokers=[broker(1, own_settings=rates), broker(2, controller=moving)])
    assert (found["level"], "2 partitions are being moved" in found["findings"][0]["evidence"]) == ("notice", True)


def test_throttles_are_unknown_without_settings() -> None:
    found = check("throttles", brokers=[broker(1, own_settings=None)], topics=[topic(own_settings=None)])
    assert found["unknown"] == "the settings of 1 broker and 1 topic are not told"


@pytest.mark.spec("O2")
def test_settings_against_loss() -> None:
    found = check("no_loss", topics=[topic(replication_factor=1, min_insync_replicas=1, unclean=True), topic("__x", internal=True)])
    assert found["level"] == "warn"
    assert {one["key"] for one in found["findings"]} == {
        "orders unclean.leader.election.enable",
        "orders replicas",
        "orders min.insync.replicas",
    }
    assert found["findings"][0]["href"] == "/topics/orders/settings"
    assert check("no_loss", topics=[topic(replication_factor=2)])["level"] == "notice"
    assert check("no_loss", topics=[topic(unclean=None)])["level"] == "unknown"


@pytest.mark.spec("O2")
def test_producers_that_do_not_wait_for_all() -> None:
    found = check("acks", brokers=[broker(1, produce_by_acks={"1": 5, "-1": 2}), broker(2, produce_by_acks={"0": 1})])
    assert [one["key"] for one in found["findings"]] == ["acks=0", "acks=1"]
    assert found["level"] == "notice"
    assert check("acks", brokers=[broker(1, produce_by_acks=None)])["level"] == "unknown"


def test_a_data_folder_that_is_one_of_several() -> None:
    full = judged(2, feed.LogDir("/b", free_bytes=GIB // 2, total_bytes=100 * GIB), 3, of_several=True)
    found = check("data_folders", brokers=[broker(1), broker(2, other_log_dirs=(full,))])
    assert (found["level"], found["findings"][0]["key"]) == ("bad", "broker 2 /b")


def test_a_client_of_ours_that_gets_nothing_done() -> None:
    found = check("clients", clients=[SilentClient("samples", "that writes the samples", "…")])
    assert found["findings"][0]["sentence"] == "The client that writes the samples gets nothing done."
    assert found["level"] == "warn"


def old(version: int, client_id: str = "loader", *, at_ms: int = NOW_MS, software: str = "unknown") -> feed.OldRequests:
    return feed.OldRequests("Produce", version, software, software, client_id, count=3, last_ms=at_ms, host="10.0.0.7")


def test_clients_of_versions_that_kafka_4_takes_no_more() -> None:
    """One finding a client, whichever brokers it spoke to; what it did a day ago is over."""
    rows = (old(2), old(3), old(2, "gone", at_ms=NOW_MS - DAY_MS), old(6, "", software="sarama"))
    found = check("old_clients", brokers=[broker(1, old_requests=rows), broker(2, old_requests=(old(2, at_ms=NOW_MS - HOUR_MS),))])
    assert found["level"] == "notice"
    assert [one["sentence"] for one in found["findings"]] == [
        "A client without an id (sarama sarama) speaks versions that Kafka 4.0 takes no more.",
        "The client 'loader' speaks versions that Kafka 4.0 takes no more.",
    ]
    evidence = found["findings"][1]["evidence"]
    assert evidence == "Produce v2, Produce v3: 9 requests since the brokers began, the last on 31 Jan 12:00:00 UTC from 10.0.0.7."
    assert (
        check("old_clients", brokers=[broker(1, old_requests=None)])["unknown"] == "1 broker does not tell which versions its clients speak"
    )


def test_checkpoints_that_are_not_brought_up_to_date() -> None:
    def folder(late_s: int | None, path: str = "/data", **said: Any) -> Any:
        return judged(1, feed.LogDir(path, checkpoints_late_s=late_s, **said), 3)

    assert check("checkpoints", brokers=[broker(1, log_dir=folder(299))])["level"] == "ok"
    found = check("checkpoints", brokers=[broker(1, log_dir=folder(0), other_log_dirs=(folder(600, "/b"),))])
    assert (found["level"], found["findings"][0]["key"]) == ("warn", "broker 1 /b")
    assert "10\u202fmin longer than its interval" in found["findings"][0]["evidence"]
    assert check("checkpoints", brokers=[broker(1, log_dir=folder(None))])["level"] == "unknown"
    assert check("checkpoints", brokers=[broker(1, log_dir=folder(None, offline_since_ms=5))])["level"] == "ok", "HW-014 says it"


# --- the report as a whole


def test_a_report_is_as_bad_as_its_worst_rule_and_says_what_it_could_not_judge() -> None:
    made = report(other(FINE, trouble=[partition("orders", 0, "offline")], happened=None))
    assert made["level"] == "bad"
    assert made["sentence"] == "Look at: partitions without a leader (1). 2 rules of 21 could not be judged."


def test_a_report_names_the_worst_and_counts_the_rest() -> None:
    trouble = [partition("wide", n, "under_replicated", isr=(1,), min_insync_replicas=1) for n in range(3_000)]
    made = next(one for one in report(other(FINE, trouble=trouble))["checks"] if one["id"] == "under_replicated")
    assert (made["count"], len(made["findings"]), len(made["keys"])) == (3_000, 20, 2_000)
    assert made["sentence"] == "3\u202f000 found; the worst 20 are listed."
