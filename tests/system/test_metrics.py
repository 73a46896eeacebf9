"""What real brokers and the whole system export is what docs/metrics.md says; the rules and the dashboard are checked against that page."""

from __future__ import annotations

import urllib.request

from confluent_kafka import Consumer, TopicPartition

from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.metrics import Exported, described, exported
from tests.support.rest import Rest
from tests.system.conftest import MakeTopic, heard

FROM_A_CHANGE = {"highwater_broker_log_dir_full_in_seconds", "highwater_broker_api_deprecated_requests"}
"""Of a disk that fills, and of old clients: there may be neither here."""
OF_OTHERS = {"highwater_question_age_seconds", "highwater_question_interval_seconds", "highwater_question_failing"}
"""Of clusters that are asked, of which there is none."""
LATER = {"highwater_broker_log_dir_full_in_s", "highwater_analysis_age_seconds", "highwater_samples_spool_bytes"}
"""Of a disk that fills, an analysis that was made, samples that could not be written."""


def page_of(system: ConsoleSystem, broker: int) -> Exported:
    with urllib.request.urlopen(f"http://127.0.0.1:{system.layout.metrics_port_of(broker)}/metrics", timeout=60) as answer:
        return exported(answer.read().decode())


def test_brokers_export_what_is_described(system: ConsoleSystem, rest: Rest, make_topic: MakeTopic) -> None:
    make_topic("measured", [[1, 2, 3]])
    brokers, _ = described()

    def together() -> Exported:
        """Of all three: one is the controller. Those told as well have the same kind and labels."""
        found: Exported = {}
        for broker in (1, 2, 3):
            for name, known in page_of(system, broker).items():
                assert found.setdefault(name, known) == known
        return found

    eventually(lambda: together().keys() >= brokers.keys() - FROM_A_CHANGE, 60, "every metric of a broker that works")
    assert {name: known for name, known in together().items() if brokers.get(name) != known} == {}


def test_the_console_exports_what_is_described(system: ConsoleSystem, rest: Rest, make_topic: MakeTopic) -> None:
    """With a group that has committed, and a job that the worker has done."""
    topic = make_topic("measured", [[1, 2, 3]])
    heard(rest)
    consumer = Consumer({"bootstrap.servers": system.bootstrap_servers, "group.id": "measuring", "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    consumer.close()
    assert rest.until(rest.start("health_report"))["state"] == "succeeded"
    _, console = described()

    wanted = console.keys() - OF_OTHERS - LATER
    eventually(lambda: exported(rest.ask("GET", "/metrics").body).keys() >= wanted, 60, "every metric of a console whose cluster works")
    body = rest.ask("GET", "/metrics").body
    assert {name: known for name, known in exported(body).items() if console.get(name) != known} == {}
    lines = dict(line.rsplit(" ", 1) for line in body.splitlines() if not line.startswith("#"))
    assert float(lines['highwater_job_steps_total{kind="health_report",outcome="succeeded"}']) >= 1
    assert float(lines['highwater_console_http_requests_total{route="metrics",method="GET",status="2xx"}']) >= 1
    assert lines['highwater_live_brokers_heard{cluster="local"}'] == "3"
    assert lines['highwater_cluster_group_lag{cluster="local"}'].isdigit()
    assert lines["highwater_redis_up"] == lines["highwater_database_up"] == "1"
