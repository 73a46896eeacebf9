"""Prometheus's and Grafana's files ask for what is exported, and for nothing else; `docker/prove.sh` runs them with the real Prometheus.

What is exported says docs/metrics.md. That it says what is so show `tests/console/test_metrics.py`, for the console, and
`tests/system/test_metrics.py`, for real brokers and the whole system.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.metrics import described
from tests.support.promql import grouped_by, selectors

ROOT = Path(__file__).resolve().parent.parent.parent
DOCKER = ROOT / "docker"
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
CONFIG = yaml.safe_load((DOCKER / "prometheus/prometheus.yml").read_text())
GROUPS = yaml.safe_load((DOCKER / "prometheus/rules.yml").read_text())["groups"]
ALERTS = [rule for group in GROUPS for rule in group["rules"] if "alert" in rule]
RECORDED = [rule for group in GROUPS for rule in group["rules"] if "record" in rule]
RULE_TESTS = yaml.safe_load((DOCKER / "prometheus/rules_test.yml").read_text())["tests"]
BOARDS = [json.loads(path.read_text()) for path in sorted((DOCKER / "grafana/dashboards").glob("*.json"))]
BROKERS, CONSOLE = described()
JOBS = {"brokers": BROKERS, "console": CONSOLE}
OF_PROMETHEUS = {"up": frozenset[str](), "ALERTS": frozenset({"alertname", "alertstate", "severity"})}
ADDED = {"job", "instance"}
"""Labels that Prometheus gives to all that it scrapes."""


def names_of(job: str | None) -> dict[str, frozenset[str]]:
    """{name as a query has it: its labels} of what a job exports, of both without one; rows that rules record belong to neither."""
    found = dict(OF_PROMETHEUS)
    for name, exports in JOBS.items():
        for metric, (kind, labels) in exports.items() if job in (None, name) else ():
            parts = {"_bucket": {"le"}, "_sum": set(), "_count": set()} if kind == "histogram" else {"": set()}
            for part, more in parts.items():
                found[metric + part] = found.get(metric + part, frozenset()) | labels | more | ADDED
    if job is None:
        found |= {rule["record"]: _recorded_labels(rule["expr"]) for rule in RECORDED}
    return found


def _recorded_labels(query: str) -> frozenset[str]:
    """What is left by the outermost `by`, which each recorded row has."""
    outer = re.search(r"\bby \(([^)]*)\)", query)
    assert outer, query
    return frozenset(re.split(r",\s*", outer[1]))


def unknown(query: str) -> list[str]:
    """What a query asks for that nobody exports, or not the job that it names: names of metrics, and `metric{label}`."""
    missing: list[str] = []
    labels_of_all: set[str] = set()
    for selector in selectors(query):
        names = names_of(selector.labels.get("job"))
        if selector.metric not in names:
            missing.append(selector.metric)
            continue
        labels_of_all |= names[selector.metric] | ADDED
        missing += [f"{selector.metric}{{{label}}}" for label in sorted(selector.labels.keys() - names[selector.metric] - ADDED)]
    return missing + [f"by ({label})" for label in sorted(grouped_by(query) - labels_of_all)]


def test_what_nobody_exports_is_noticed() -> None:
    assert unknown("highwater_group_lags") == ["highwater_group_lags"]
    assert unknown('highwater_cluster_under_min_isr{job="brokers"}') == ["highwater_cluster_under_min_isr"]
    assert unknown("rate(highwater_broker_api_stage_seconds_bucket[1m])") == []
    assert unknown("rate(highwater_broker_api_stage_seconds[1m])") == ["highwater_broker_api_stage_seconds"]
    assert unknown('highwater_group_lag{topic="orders"}') == ["highwater_group_lag{topic}"]
    assert unknown('max by (cluster, broker) (highwater_group_lag{group=~"a|b"})') == ["by (broker)"]
    assert unknown('1 - on (le) group_left (x) highwater_redis_up offset 5m or vector(0) > bool 1e3 # "a{b}"') == ["by (le)"]


def test_panels_ask_for_metrics_that_exist() -> None:
    panels = [panel for board in BOARDS for panel in board["panels"] if panel["type"] != "row"]
    assert panels
    for panel in panels:
        for target in panel["targets"]:
            assert selectors(target["expr"]), panel["title"]
            assert unknown(target["expr"]) == [], panel["title"]
            legend = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert legend <= grouped_by(target["expr"]) | selectors_labels(target["expr"]), panel["title"]


def selectors_labels(query: str) -> set[str]:
    """Those that a row of the answer has where nothing is summed up."""
    whole = selectors(query)
    return set() if grouped_by(query) or len(whole) != 1 else set(names_of(whole[0].labels.get("job"))[whole[0].metric])


def test_panels_say_their_unit_what_they_mean_and_where_they_stand() -> None:
    for board in BOARDS:
        rows = [panel["title"] for panel in board["panels"] if panel["type"] == "row"]
        named = ["Cluster health", "Throughput", "Latency", "Replication", "Controller", "Groups", "Console and workers"]
        assert rows == [*named, "Brokers' processes"]
        assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
        taken: set[tuple[int, int]] = set()
        for panel in board["panels"]:
            at = panel["gridPos"]
            places = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            assert max(x for x, _ in places) < 24
            assert not places & taken, panel["title"]
            taken |= places
            if panel["type"] != "row":
                assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
                assert panel["description"].endswith("."), panel["title"]


@pytest.mark.parametrize("rule", ALERTS, ids=[rule["alert"] for rule in ALERTS])
def test_alerts_ask_for_metrics_that_exist_and_are_tried_out(rule: dict[str, Any]) -> None:
    assert unknown(rule["expr"]) == []
    assert {s.labels["job"] for s in selectors(rule["expr"]) if "job" in s.labels} <= {job["job_name"] for job in CONFIG["scrape_configs"]}
    assert rule["annotations"]["summary"].endswith(".")
    assert rule["annotations"]["runbook"].endswith("."), "what to do, in a sentence"
    assert rule["labels"]["severity"] in ("warning", "critical")
    told = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
    assert told <= ADDED | {label for s in selectors(rule["expr"]) for label in names_of(s.labels.get("job"))[s.metric]}
    tried = [case for test in RULE_TESTS for case in test["alert_rule_test"] if case["alertname"] == rule["alert"]]
    assert any(case["exp_alerts"] for case in tried), "no test in rules_test.yml in which it fires"
    assert any(not case["exp_alerts"] for case in tried), "no test in rules_test.yml in which it does not"


@pytest.mark.parametrize("rule", RECORDED, ids=[rule["record"] for rule in RECORDED])
def test_what_is_recorded_is_made_of_metrics_that_exist_and_is_asked_for(rule: dict[str, Any]) -> None:
    assert unknown(rule["expr"]) == []
    asked = [target["expr"] for board in BOARDS for panel in board["panels"] for target in panel.get("targets", ())]
    assert any(rule["record"] in query for query in [*asked, *(alert["expr"] for alert in ALERTS)])


def test_rules_are_tried_with_metrics_that_exist() -> None:
    series = [row["series"] for test in RULE_TESTS for row in test["input_series"]]
    assert [name for row in series for name in unknown(row)] == []


def test_prometheus_reads_files_and_asks_hosts_that_are_there() -> None:
    service = SERVICES["prometheus"]
    assert "./prometheus:/etc/prometheus:ro" in service["volumes"]
    assert all((DOCKER / "prometheus" / path).exists() for path in CONFIG["rule_files"])
    jobs = {job["job_name"]: job for job in CONFIG["scrape_configs"]}
    hosts = {name: [target.partition(":")[0] for c in job["static_configs"] for target in c["targets"]] for name, job in jobs.items()}
    assert hosts == {"brokers": ["broker-1", "broker-2", "broker-3"], "console": ["console"]}
    assert SERVICES["console"]["environment"]["HIGHWATER_HOSTS"] == "console", "or it answers 400 to whoever calls it so"
    secret = jobs["console"]["authorization"]["credentials_file"]
    assert secret == SERVICES["console"]["environment"]["HIGHWATER_METRICS_TOKEN_FILE"]
    assert secret.removeprefix("/run/secrets/") in service["secrets"]


def test_grafana_finds_its_source_and_its_dashboards() -> None:
    source = yaml.safe_load((DOCKER / "grafana/provisioning/datasources/prometheus.yaml").read_text())["datasources"][0]
    assert source["url"] == "http://prometheus:9090"
    assert {panel["datasource"]["uid"] for board in BOARDS for panel in board["panels"] if panel["type"] != "row"} == {source["uid"]}
    provider = yaml.safe_load((DOCKER / "grafana/provisioning/dashboards/highwater.yaml").read_text())["providers"][0]
    assert f"./grafana/dashboards:{provider['options']['path']}:ro" in SERVICES["grafana"]["volumes"]
