"""Alerts as the workers judge and tell them: on the pretended cluster, to real servers; whoever is killed, each is told once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings

from console.actions import alert_deliveries, alert_looks
from console.actions.alert_deliveries import due_deliveries, send_due
from console.actions.alert_looks import look
from console.actions.report_mails import put_on_its_way
from console.alert_figures import NOTHING, Figures, read_figures
from console.clock import now_ms
from console.gateway import notifying
from console.gateway.notifying import NotSent, send_mail, send_slack, send_webhook
from console.gateway.sealing import seal
from console.models import Alert, AlertDelivery, AlertDestination, AlertRule, AlertSilence, Cluster, HealthReport
from console.rules.alerts.figures import FIGURES, SHIPPED
from console.rules.alerts.notices import PAUSES_S, Notice, signature
from console.rules.report import FORMAT, changes
from console.rules.report.mail import Mail
from console.snapshot.read import Snapshot
from tests.support import notice_servers as servers
from tests.support.console_fixtures import AHEAD_MS, publish
from workers.tasks import alerts as tasks

START_MS = 1_780_000_000_000
NOW = datetime.fromtimestamp(START_MS / 1000, UTC)
NOTICE = Notice(**dict.fromkeys(("rule", "severity", "cluster", "target", "sentence", "value", "since", "at"), "x"), event="fired")  # type: ignore[arg-type]


class World:
    """Looks every 15 s at figures that a test says."""

    def __init__(self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cluster, self.at_ms, self.figures = cluster, START_MS, Figures(True, {})
        monkeypatch.setattr(alert_looks, "read_figures", lambda *_: self.figures)

    def looks(self, count: int, **values: float | dict[str, float | None] | None) -> None:
        """Of figures that are not named everything is well."""
        given = {name: value if isinstance(value, dict) else {"": value} for name, value in values.items()}
        self.figures = Figures(True, {"offline": {"": 0}, **given})
        self._look(count)

    def blind_looks(self, count: int) -> None:
        self.figures = NOTHING
        self._look(count)

    def _look(self, count: int) -> None:
        for _ in range(count):
            look(self.cluster, self.at_ms, None)  # type: ignore[arg-type]  # nothing is read of it
            self.at_ms += 15_000

    def told(self) -> list[tuple[str, str, str]]:
        rows = AlertDelivery.objects.order_by("id").values_list("notice", flat=True)
        return [(one["event"], one["rule"], one["target"]) for one in rows]


@pytest.fixture
def world(local: Cluster, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(local, monkeypatch)


@pytest.fixture
def hook(local: Cluster) -> AlertDestination:
    return AlertDestination.objects.create(name="hook", kind="webhook", secrets=seal({"url": "http://127.0.0.1:1/"}), set_by="x")


@pytest.fixture
def private(settings: Any) -> Iterator[None]:
    settings.ALERTS_PRIVATE = True
    yield


FIRED, OVER = ("fired", "OfflinePartitions", ""), ("resolved", "OfflinePartitions", "")


def test_it_is_told_once_that_it_fires_and_once_that_it_is_over(world: World, hook: AlertDestination) -> None:
    world.looks(4, offline=2)
    assert world.told() == []
    world.looks(20, offline=2)
    assert world.told() == [FIRED]
    world.looks(6, offline=0)
    assert world.told() == [FIRED, OVER]
    assert Alert.objects.get().state == Alert.OVER


def test_what_is_not_known_neither_fires_nor_ends(world: World, hook: AlertDestination) -> None:
    world.looks(3, offline=2)
    world.blind_looks(50)
    assert world.told() == []
    world.looks(6, offline=2)
    assert world.told() == [FIRED]
    known_ms = world.at_ms - 15_000
    world.blind_looks(50)
    alert = Alert.objects.get()
    assert world.told() == [FIRED] and (alert.state, alert.is_known, alert.known_ms) == (Alert.FIRING, False, known_ms)
    rule = AlertRule.objects.get(name="OfflinePartitions")
    assert (rule.unknown_count, rule.known_at_ms) == (1, known_ms)


def test_what_flaps_is_told_once(world: World, hook: AlertDestination) -> None:
    world.looks(5, offline=2)
    for _ in range(10):
        world.looks(2, offline=0)
        world.looks(1, offline=2)
    assert world.told() == [FIRED]


def test_what_another_rule_explains_is_not_told(world: World, hook: AlertDestination) -> None:
    world.looks(20, offline=1, under_min_isr=5)
    assert world.told() == [FIRED]
    world.looks(20, offline=0, under_min_isr=5)
    assert world.told() == [FIRED, OVER, ("fired", "UnderMinIsr", "")]


def test_each_target_stands_for_itself_and_one_that_is_gone_is_over(world: World, hook: AlertDestination) -> None:
    world.looks(6, broker_silent={"1": 1, "2": 0, "3": None})
    assert world.told() == [("fired", "BrokerDown", "broker 1")]
    world.looks(6, broker_silent={"2": 0})
    assert world.told()[1:] == [("resolved", "BrokerDown", "broker 1")]


def test_a_silence_keeps_it_on_the_page_and_tells_nobody_until_it_ends(world: World, hook: AlertDestination) -> None:
    until = NOW + timedelta(minutes=5)
    AlertSilence.objects.create(cluster=world.cluster, until=until, why="a new disk", by="ann")
    world.looks(20, offline=1)
    assert world.told() == [] and Alert.objects.get().state == Alert.FIRING
    world.looks(1, offline=1)
    assert world.told() == [FIRED]


def test_a_silence_is_of_its_rule_and_target(world: World, hook: AlertDestination) -> None:
    world.looks(1)
    rule = AlertRule.objects.get(name="BrokerDown")
    AlertSilence.objects.create(cluster=world.cluster, rule=rule, target="1", until=NOW + timedelta(days=1), why="x", by="ann")
    world.looks(6, offline=1, broker_silent={"1": 1, "2": 1})
    assert world.told() == [("fired", "BrokerDown", "broker 2"), FIRED]


def test_a_rule_that_is_switched_off_is_not_looked_at(world: World, hook: AlertDestination) -> None:
    world.looks(1)
    AlertRule.objects.filter(name="OfflinePartitions").update(is_on=False)
    world.looks(10, offline=1)
    assert world.told() == [] and not Alert.objects.exists()


def test_a_worker_that_dies_before_it_has_written_leaves_nothing_half(
    world: World, hook: AlertDestination, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state and what is told of it are one transaction: the next look finds it as it was, and tells it once."""
    world.looks(4, offline=1)

    def die(*_: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as dying:
        dying.setattr(alert_looks, "_note_known", die)
        with pytest.raises(SystemExit):
            world.looks(1, offline=1)
    assert world.told() == [] and Alert.objects.get().state == Alert.PENDING
    world.looks(2, offline=1)
    assert world.told() == [FIRED]


def test_every_cluster_has_the_shipped_rules_once(world: World) -> None:
    world.looks(3)
    rows = AlertRule.objects.filter(is_shipped=True)
    assert {row.name: row.unless.name if row.unless else "" for row in rows} == {one.name: one.unless for one in SHIPPED}


def test_a_healthy_cluster_fires_nothing_and_every_figure_can_be_read(local: Cluster, shown: Any, redis: Any) -> None:
    assert read_figures(Snapshot("local"), {"no_controller"}, set()).values == {"no_controller": {"": None}}, "nobody has read ZooKeeper"
    now = now_ms()
    shown.store_was_true(now + AHEAD_MS)
    publish(redis, shown, now)
    found = read_figures(Snapshot("local"), set(FIGURES), {"billing"})
    assert found.is_known and set(found.values) == set(FIGURES)
    assert found.values["offline"] == {"": 0} and found.values["no_controller"] == {"": 0.0}
    assert found.values["broker_silent"] == {"1": 0.0, "2": 0.0, "3": 0.0} and found.values["group_lag"] == {"billing": 40}
    look(local, START_MS, Snapshot("local"))
    assert not Alert.objects.exists()


def test_of_a_cluster_that_nobody_tells_of_nothing_is_known(local: Cluster, redis: Any) -> None:
    assert read_figures(Snapshot("local"), set(FIGURES), set()) == NOTHING


# --- sending


def due(destination: AlertDestination, at: datetime = NOW) -> AlertDelivery:
    row = alert_looks.queue_notice([destination], NOTICE, None)[0]
    AlertDelivery.objects.filter(pk=row.pk).update(next_at=at)
    return row


def pointed(destination: AlertDestination, url: str, **more: str) -> None:
    destination.secrets = seal({"url": url, **more})
    destination.save()


def test_what_fails_is_sent_again_with_the_same_key_and_signature(hook: AlertDestination, private: None) -> None:
    with servers.http(servers.BROKEN, servers.OK) as server:
        pointed(hook, server.url, secret="s3cret")
        row = due(hook)
        first = send_due(row.pk, NOW)
        assert first and first.error == "The server answers 500." and first.next_at == NOW + timedelta(seconds=PAUSES_S[0])
        assert send_due(row.pk, NOW) is None and due_deliveries(NOW) == []
        second = send_due(row.pk, first.next_at)
    assert second and second.sent_at and not second.error and second.next_at is None
    (head, body), (_, again) = [one.split(b"\r\n\r\n", 1) for one in server.asked]
    assert body == again and json.loads(body)["key"] == row.key
    assert f"Idempotency-Key: {row.key}".encode() in head and signature("s3cret", body).encode() in head


def test_tries_end_and_say_why(hook: AlertDestination, private: None) -> None:
    with servers.http(servers.BROKEN) as server:
        pointed(hook, server.url)
        row, now, tries = due(hook), NOW, 0
        while found := send_due(row.pk, now):
            now, tries = found.next_at or now, tries + 1
    assert tries == len(PAUSES_S) + 1
    row.refresh_from_db()
    assert (row.next_at, row.sent_at, row.error) == (None, None, "The server answers 500.")


def test_a_worker_killed_while_it_sends_is_followed_by_another_after_its_lease(
    hook: AlertDestination, private: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = due(hook)

    def die(*_: Any, **__: Any) -> None:
        raise SystemExit

    with servers.http(servers.OK) as server:
        pointed(hook, server.url)
        with monkeypatch.context() as dying:
            dying.setattr(notifying, "send_webhook", die)
            with pytest.raises(SystemExit):
                send_due(row.pk, NOW)
        assert send_due(row.pk, NOW + timedelta(seconds=1)) is None
        later = NOW + alert_deliveries.LEASE + timedelta(seconds=1)
        assert due_deliveries(later) == [row.pk]
        found = send_due(row.pk, later)
    assert found and found.sent_at and found.tries == 2 and len(server.asked) == 1


def test_that_it_is_over_waits_until_it_was_told_that_it_fires(world: World, hook: AlertDestination) -> None:
    world.looks(6, offline=1)
    world.looks(6, offline=0)
    fired, over = AlertDelivery.objects.order_by("id")
    late = datetime.now(UTC) + timedelta(days=1)
    assert due_deliveries(late) == [fired.pk] and send_due(over.pk, late) is None
    AlertDelivery.objects.filter(pk=fired.pk).update(next_at=None)
    assert due_deliveries(late) == [over.pk]


@pytest.fixture
def piled(world: World, hook: AlertDestination) -> list[AlertDelivery]:
    """Three notices for `hook`, of three alerts."""
    world.looks(1)
    rule = AlertRule.objects.get(name="BrokerDown")
    alerts = [Alert.objects.create(rule=rule, target=str(n), state=Alert.FIRING, since_ms=0, is_told=True) for n in range(3)]
    rows = [alert_looks.queue_notice([hook], NOTICE, alert)[0] for alert in alerts]
    AlertDelivery.objects.update(next_at=NOW)
    return rows


def test_a_destination_gets_one_at_a_time(piled: list[AlertDelivery], hook: AlertDestination) -> None:
    other = AlertDestination.objects.create(name="other", kind="slack", secrets=seal({"url": "http://127.0.0.1:9/"}), set_by="x")
    elsewhere = due(other)
    assert due_deliveries(NOW) == [piled[0].pk, elsewhere.pk]
    AlertDelivery.objects.filter(pk=piled[0].pk).update(lease_until=NOW + timedelta(seconds=5))
    assert due_deliveries(NOW) == [elsewhere.pk]
    assert send_due(piled[1].pk, NOW) is None


def test_after_a_failure_a_destination_is_left_alone_for_a_while(piled: list[AlertDelivery], hook: AlertDestination, private: None) -> None:
    """Whatever has piled up for it: a server that hangs takes one worker for one try. What somebody tests goes out all the same."""
    with servers.http(servers.BROKEN) as server:
        pointed(hook, server.url)
        assert send_due(piled[0].pk, NOW)
    assert due_deliveries(NOW + timedelta(seconds=14)) == []
    assert due_deliveries(NOW + timedelta(seconds=15)) == [piled[0].pk]
    assert len(server.asked) == 1
    tested = due(hook)
    assert due_deliveries(NOW + timedelta(seconds=1)) == [tested.pk]


def test_one_task_sends_all_that_waits_as_long_as_it_is_taken(piled: list[AlertDelivery], hook: AlertDestination, private: None) -> None:
    with servers.http(servers.OK) as server:
        pointed(hook, server.url)
        tasks.send(piled[0].pk)
    assert len(server.asked) == 3
    assert not AlertDelivery.objects.exclude(next_at=None).exists()


def test_a_destination_switched_off_meanwhile_gets_nothing(hook: AlertDestination) -> None:
    row = due(hook)
    AlertDestination.objects.update(is_on=False)
    found = send_due(row.pk, NOW)
    assert found and found.next_at is None and found.error == alert_deliveries.SWITCHED_OFF


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (servers.INWARD, "The server answers 302, a redirect, which is not followed"),
        (None, "The server does not answer within 0.5 s."),
    ],
    ids=["leads inward", "never answers"],
)
def test_a_server_that_does_otherwise_is_told_of(answer: bytes | None, said: str) -> None:
    with servers.http(answer) as server, pytest.raises(NotSent) as error:
        send_webhook({"url": server.url}, NOTICE, "k", private=True, within_s=0.5)
    assert str(error.value).startswith(said) and len(server.asked) == 1


def test_an_endless_answer_is_not_read() -> None:
    with servers.http(servers.ENDLESS) as server:
        send_webhook({"url": server.url}, NOTICE, "k", private=True)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"]
)
def test_no_address_within_is_connected_to(host: str) -> None:
    """Whatever the name is: the address decides. Nothing is allowed unless a setting says so."""
    assert django_settings.ALERTS_PRIVATE is False
    with pytest.raises(NotSent, match=r"private network|link-local|no address"):
        send_slack({"url": f"http://{host}:9/"}, NOTICE, private=False)


MAIL = {
    "port": 0,
    "host": "127.0.0.1",
    "security": "none",
    "user": "",
    "sender": "hw@example.org",
    "to": ["a@example.org", "b@example.org"],
}


def test_a_mail_is_taken_and_has_the_key_in_its_id() -> None:
    with servers.mail() as server:
        send_mail({**MAIL, "port": server.port}, "", Mail("A subject", "Some text\n", "<p>Some text</p>"), "k1")
    text = server.asked[0].decode()
    assert "Subject: A subject" in text and "Message-ID: <k1@highwater>" in text and "<p>Some text</p>" in text


@pytest.mark.parametrize(
    ("answers", "more", "said"),
    [
        ({"RCPT": "550 no"}, {}, "The mail server takes none of the recipients."),
        ({"MAIL": "451 later"}, {}, "The mail server answers 451."),
        ({"DATA": "554 no"}, {}, "The mail server answers 554."),
        ({}, {"security": "starttls"}, "The mail server does not take it: SMTPNotSupportedError."),
    ],
)
def test_a_mail_server_that_refuses_is_told_of(answers: dict[str, str], more: dict[str, str], said: str) -> None:
    with servers.mail(answers) as server, pytest.raises(NotSent) as error:
        send_mail({**MAIL, "port": server.port, **more}, "pw", Mail("A", "B", ""), "k")
    assert str(error.value) == said and not server.asked


def report_of(cluster: Cluster, *, new: int = 0, compared: int | None = 1) -> HealthReport:
    """As `workers/kinds/health.py` keeps them."""
    item = {"sentence": "orders-3 has no leader.", "number": "HW-001", "title": "Offline", "level": "bad"}
    changed = changes({"checks": []}, {"checks": []}) | ({"new": {"count": new, "items": [item] * new}} if new else {})
    return HealthReport.objects.create(
        cluster=cluster, level="ok", sentence="Nothing found.", checks=[], changed=changed, format=FORMAT, basis="feed", compared=compared
    )


def to_mail(port: int, reports: str) -> AlertDestination:
    own = {**MAIL, "port": port, "reports": reports}
    return AlertDestination.objects.create(name=f"mail-{reports}", kind="mail", settings=own, secrets=seal({}), set_by="x")


def test_a_report_is_mailed_once_to_whom_it_concerns(local: Cluster) -> None:
    with servers.mail({}) as server:
        for reports in ("", "news", "all"):
            to_mail(server.port, reports)
        calm, first = report_of(local), report_of(local, compared=None)
        assert [put_on_its_way(one) for one in (calm, calm, first)] == [1, 1, 2], "nothing is new, twice; the first one is news"
        for delivery in due_deliveries(datetime.now(UTC)):
            assert send_due(delivery, datetime.now(UTC)).sent_at  # type: ignore[union-attr]
        for delivery in due_deliveries(datetime.now(UTC)):
            send_due(delivery, datetime.now(UTC))
        assert not due_deliveries(datetime.now(UTC))
        said = b"".join(server.asked).decode()
    assert said.count("Subject: ") == 3
    assert said.count("text/html") == 3
    assert "Nothing found." in said


def test_a_report_that_is_gone_is_not_sent_and_said_so(local: Cluster) -> None:
    to_mail(1, "all")
    put_on_its_way(report_of(local))
    HealthReport.objects.all().delete()
    row = send_due(AlertDelivery.objects.get().pk, datetime.now(UTC))
    assert row is not None and (row.next_at, row.error) == (None, "The report was deleted before it could be sent.")


def test_a_report_that_cannot_be_sent_is_tried_again(local: Cluster) -> None:
    to_mail(1, "all")
    put_on_its_way(report_of(local))
    now = datetime.now(UTC)
    row = send_due(AlertDelivery.objects.get().pk, now)
    assert row is not None and row.next_at is not None and row.next_at > now and "does not take it" in row.error


@pytest.mark.parametrize("how", ["hangs", "drips"])
def test_a_mail_server_that_does_not_go_on_is_left(how: str) -> None:
    with servers.mail(**{how: True}) as server, pytest.raises(NotSent, match=r"does not answer within 0\.5 s"):
        send_mail({**MAIL, "port": server.port}, "", Mail("A", "B", ""), "k", within_s=0.5)


def test_a_mail_server_that_answers_nothing_is_left_after_one_answers_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the time of the whole mail is up."""
    monkeypatch.setattr(notifying, "WITHIN_S", 0.3)
    with servers.mail(hangs=True) as server, pytest.raises(NotSent, match=r"does not answer within 0\.3 s"):
        send_mail({**MAIL, "port": server.port}, "", Mail("A", "B", ""), "k", within_s=30)
