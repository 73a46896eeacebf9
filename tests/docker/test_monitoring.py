"""Prometheus's and Grafana's files ask for what is exported, and for nothing else; `docker/prove.sh` runs them with the real Prometheus."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from broker_core.telemetry.metrics import BrokerMetrics
from broker_core.telemetry.prometheus import PREFIX, render
from console.api import probes

ROOT = Path(__file__).resolve().parent.parent.parent
DOCKER = ROOT / "docker"
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
CONFIG = yaml.safe_load((DOCKER / "prometheus/prometheus.yml").read_text())
RULES = [rule for group in yaml.safe_load((DOCKER / "prometheus/rules.yml").read_text())["groups"] for rule in group["rules"]]
RULE_TESTS = yaml.safe_load((DOCKER / "prometheus/rules_test.yml").read_text())["tests"]
BOARDS = [json.loads(path.read_text()) for path in sorted((DOCKER / "grafana/dashboards").glob("*.json"))]
GAUGE_ROW = re.compile(r'\("(\w+)", "[^"]+\.", ')
ASKED = re.compile(r"(highwater_\w+)(?:\{([^}]*)\})?")


def by_brokers() -> set[str]:
    """Every metric of a broker: those of an empty page and one request, and the gauges that its modules name with a help text."""
    metrics = BrokerMetrics(idle_percent=50.0)
    metrics.api("Fetch").latency.observe(1.0)
    metrics.api("Fetch").stages.observe(1.0, 1.0, 1.0, 1.0)
    page = {re.split(r"[ {]", line)[0] for line in render(metrics, 1).splitlines() if not line.startswith("#")}
    sources = [(ROOT / "broker_core/server" / name).read_text() for name in ("broker.py", "main.py")]
    return page | {f"{PREFIX}{name}" for text in sources for name in GAUGE_ROW.findall(text)}


def by_console() -> set[str]:
    """Every metric of the console."""
    tables = {
        "cluster": probes.CLUSTER_GAUGES,
        "broker": probes.BROKER_GAUGES,
        "broker_log_dir": probes.LOG_DIR_GAUGES,
        "topic": probes.TOPIC_GAUGES,
    }
    whole = set(re.findall(r'"(highwater_\w+)"', Path(probes.__file__).read_text()))
    return whole | {f"highwater_{what}_{name}" for what, names in tables.items() for name in names}


EXPORTED = {"brokers": by_brokers(), "console": by_console()}


def unknown(query: str) -> list[str]:
    """What a query asks for that nobody exports, or not the job that it names."""
    missing = []
    for metric, labels in ASKED.findall(query):
        job = re.search(r'job="(\w+)"', labels)
        exported = EXPORTED[job[1]] if job else EXPORTED["brokers"] | EXPORTED["console"]
        if metric not in exported:
            missing.append(metric)
    return missing


def test_a_metric_that_nobody_exports_is_noticed() -> None:
    assert unknown("highwater_group_lags") == ["highwater_group_lags"]
    assert unknown('highwater_cluster_under_min_isr{job="brokers"}') == ["highwater_cluster_under_min_isr"]
    assert unknown("rate(highwater_broker_api_stage_seconds_bucket[1m])") == []


def test_panels_ask_for_metrics_that_exist() -> None:
    panels = [panel for board in BOARDS for panel in board["panels"]]
    assert panels
    for panel in panels:
        for target in panel["targets"]:
            assert ASKED.search(target["expr"]), panel["title"]
            assert unknown(target["expr"]) == []


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_rules_ask_for_metrics_that_exist_and_are_tried_out(rule: dict[str, Any]) -> None:
    assert unknown(rule["expr"]) == []
    assert set(re.findall(r'job="(\w+)"', rule["expr"])) <= {job["job_name"] for job in CONFIG["scrape_configs"]}
    assert rule["annotations"]["summary"].endswith(".")
    assert rule["labels"]["severity"] in ("warning", "critical")
    tried = [case for test in RULE_TESTS for case in test["alert_rule_test"] if case["alertname"] == rule["alert"]]
    assert any(case["exp_alerts"] for case in tried), "no test in rules_test.yml in which it fires"


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
    assert {panel["datasource"]["uid"] for board in BOARDS for panel in board["panels"]} == {source["uid"]}
    provider = yaml.safe_load((DOCKER / "grafana/provisioning/dashboards/highwater.yaml").read_text())["providers"][0]
    assert f"./grafana/dashboards:{provider['options']['path']}:ro" in SERVICES["grafana"]["volumes"]
