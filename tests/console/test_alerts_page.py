"""The page of alerts and its forms: who may do what, what is refused, and what it says of what is not known."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError
from django.test import Client
from django.utils import timezone
from msgspec import structs

from broker_core.contract.moments import Track
from console.actions.alert_deliveries import send_due
from console.actions.alert_looks import look
from console.clock import now_ms
from console.gateway.sealing import unseal
from console.models import (
    Alert,
    AlertDelivery,
    AlertDestination,
    AlertRule,
    AlertSilence,
    AuditEntry,
    Cluster,
    LagSummary,
    ThroughputSummary,
)
from console.snapshot.moments import NotRecorded
from console.snapshot.read import Snapshot
from tests.support import notice_servers as servers

MAIL = {
    **{"name": "ops", "kind": "mail", "host": "smtp.example.org", "port": "587", "security": "starttls", "user": "hw"},
    **{"password": "pass-word", "sender": "hw@example.org", "to": "a@example.org, b@example.org"},
}
HOOK = {"name": "hook", "kind": "webhook", "url": "https://hooks.example.org/a-secret-path", "secret": "sign-with-it"}
RULE = {
    **{"name": "Lag", "figure": "group_lag", "comparison": ">", "threshold": "1000", "for_s": "300", "severity": "warning"},
    "sentence": "Too far behind.",
}


@pytest.fixture(autouse=True)
def stage(shown: Any, local: Cluster) -> None:
    look(local, now_ms(), Snapshot("local"))


def rule(name: str = "BrokerDown") -> AlertRule:
    return AlertRule.objects.get(name=name)


def fired(**more: Any) -> Alert:
    at_ms = now_ms()
    parts = {"rule": rule(), "target": "2", "state": Alert.FIRING, "since_ms": at_ms, "known_ms": at_ms, "value": 1.0, **more}
    return Alert.objects.create(**parts)


def text(browser: Client) -> str:
    return browser.get("/alerts").content.decode()


def test_what_fires_stands_there_with_where_to_act_and_what_is_not_known_with_its_time(people: dict[str, Client]) -> None:
    assert "Nothing fires." in text(people["viewer"]) or "As far as is known nothing fires" in text(people["viewer"])
    fired(is_known=False, known_ms=now_ms() - 120_000)
    AlertRule.objects.filter(name="BrokerDown").update(unknown_count=1, known_at_ms=now_ms() - 120_000)
    said = text(people["viewer"])
    assert 'href="/brokers/2"' in said and "not known now; last 2 min ago" in said.replace("\u202f", " ").replace("\xa0", " ")
    assert "Not known" in said and "Nothing fires." not in said


def test_how_many_fire_stands_in_the_menu_and_on_the_overview(people: dict[str, Client]) -> None:
    def firing(path: str) -> list[str]:
        return re.findall(r"(\d+)<span class=\"visually-hidden\"> firing", people["viewer"].get(path).content.decode())

    assert firing("/topics") == [] and "where to act" not in people["viewer"].get("/").content.decode()
    fired()
    fired(target="1", state=Alert.PENDING)
    assert firing("/topics") == ["1"]
    assert "1 alert</span> fires" in people["viewer"].get("/").content.decode().replace("\u202f", " ").replace("\xa0", " ")


def test_before_the_first_look_nothing_is_said_to_be_well(people: dict[str, Client]) -> None:
    AlertRule.objects.all().delete()
    assert "whether something is wrong is not known" in text(people["viewer"]) and "Nothing fires." not in text(people["viewer"])


def test_where_nobody_looks_any_more_nothing_is_said_to_be_well(people: dict[str, Client]) -> None:
    AlertRule.objects.update(looked_at_ms=now_ms() - 10 * 60_000, unknown_count=0)
    said = text(people["viewer"])
    assert "whether it is so now is not known" in said and "Nothing fires." not in said
    AlertRule.objects.update(is_on=False)
    assert "All rules are off: nobody looks." in text(people["viewer"])


WRITES = [
    ("/alerts/silences", {"minutes": "60", "why": "a new disk"}, "operator"),
    ("/alerts/rules", RULE, "admin"),
    ("/alerts/rules/{rule}/switch", {"on": "0"}, "admin"),
    ("/alerts/destinations", HOOK, "admin"),
    ("/alerts/destinations/{destination}/test", {}, "admin"),
    ("/alerts/destinations/{destination}/switch", {"on": "0"}, "admin"),
    ("/alerts/destinations/{destination}/remove", {"confirm": "yes"}, "admin"),
    ("/alerts/silences/{silence}/end", {}, "operator"),
]


@pytest.mark.parametrize(("path", "form", "least"), WRITES)
def test_who_may_change_what_and_each_change_is_in_the_audit(
    people: dict[str, Client], local: Cluster, path: str, form: dict[str, str], least: str
) -> None:
    destination = AlertDestination.objects.create(name="there", kind="slack", settings={"host": "h"}, set_by="x")
    silence = AlertSilence.objects.create(cluster=local, until=timezone.now() + timedelta(hours=1), why="x", by="x")
    place = path.format(rule=rule().pk, destination=destination.pk, silence=silence.pk)
    allowed = ["viewer", "operator", "admin"].index(least)
    for at, name in enumerate(("viewer", "operator", "admin")):
        if at < allowed:
            assert people[name].post(place, form).status_code == 403
            assert AuditEntry.objects.latest("id").outcome == "refused"
    assert people[least].post(place, form).status_code == 303
    entry = AuditEntry.objects.latest("id")
    assert (entry.outcome, entry.actor) == ("done", least)


def test_secrets_are_sealed_and_stand_neither_on_the_page_nor_in_the_audit(people: dict[str, Client]) -> None:
    for form in (HOOK, MAIL):
        assert people["admin"].post("/alerts/destinations", form).status_code == 303
    assert unseal(AlertDestination.objects.get(name="hook").secrets) == {"url": HOOK["url"], "secret": HOOK["secret"]}
    assert unseal(AlertDestination.objects.get(name="ops").secrets) == {"password": MAIL["password"]}
    told = text(people["admin"]) + str(list(AuditEntry.objects.values())) + str(list(AlertDestination.objects.values()))
    assert not any(secret in told for secret in ("a-secret-path", "sign-with-it", "pass-word"))
    assert "smtp.example.org to a@example.org, b@example.org" in text(people["viewer"])
    assert "alerts only" in text(people["viewer"])


def test_a_mail_may_get_health_reports_too(people: dict[str, Client]) -> None:
    people["admin"].post("/alerts/destinations", {**MAIL, "reports": "news"})
    assert AlertDestination.objects.get().settings["reports"] == "news"
    assert "health reports too, where something is new, worse or gone" in text(people["viewer"])


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({**HOOK, "url": "ftp://hooks.example.org/"}, "url"),
        ({**HOOK, "url": "https://user:pw@hooks.example.org/"}, "url"),
        ({**HOOK, "url": "https://hooks.example.org/a\r\nX: y"}, "url"),
        ({**HOOK, "url": "https://"}, "url"),
        ({**HOOK, "name": ""}, "name"),
        ({**HOOK, "kind": "pigeon"}, "kind"),
        ({**MAIL, "port": "0"}, "port"),
        ({**MAIL, "security": "none"}, "security"),
        ({**MAIL, "reports": "some"}, "reports"),
        ({**MAIL, "to": "a@example.org, nobody"}, "to"),
        ({**MAIL, "sender": "hw@example.org\nBcc: x@example.org"}, "sender"),
    ],
)
def test_a_destination_that_cannot_be_is_refused_at_its_field(people: dict[str, Client], form: dict[str, str], field: str) -> None:
    answer = people["admin"].post("/alerts/destinations", form)
    said = answer.content.decode()
    assert answer.status_code == 422 and f'id="wrong-destination-{field}">' in said
    assert not AlertDestination.objects.exists() and "a-secret-path" not in said and "pass-word" not in said


def test_a_destination_is_changed_and_keeps_the_secrets_that_nobody_typed(people: dict[str, Client]) -> None:
    people["admin"].post("/alerts/destinations", HOOK)
    row = AlertDestination.objects.get()
    path = f"/alerts/destinations/{row.pk}/change"
    shown = people["admin"].get(path)
    assert "a-secret-path" not in shown.content.decode() and "sign-with-it" not in shown.content.decode()
    form = {"kind": "mail", "name": "pager", "url": "", "secret": "", "seen": shown.context["seen"]}
    assert people["admin"].post(path, form).status_code == 303
    row.refresh_from_db()
    assert (row.name, row.kind, unseal(row.secrets)) == ("pager", "webhook", {"url": HOOK["url"], "secret": HOOK["secret"]})
    late = people["admin"].post(path, form)
    assert late.status_code == 409 and "meanwhile: look at it again" in late.content.decode()
    seen = people["admin"].get(path).context["seen"]
    other = {**form, "url": "https://hooks.example.org/another-path", "forget": "1", "seen": seen}
    assert people["admin"].post(path, {**other, "url": "ftp://x"}).status_code == 422
    assert people["admin"].post(path, other).status_code == 303
    row.refresh_from_db()
    assert unseal(row.secrets) == {"url": other["url"]}
    assert "another-path" not in str(list(AuditEntry.objects.values()))
    assert people["operator"].get(path).status_code == people["operator"].post(path, other).status_code == 403


def test_a_mail_is_changed_with_what_it_was(people: dict[str, Client]) -> None:
    people["admin"].post("/alerts/destinations", MAIL)
    row = AlertDestination.objects.get()
    path = f"/alerts/destinations/{row.pk}/change"
    context = people["admin"].get(path).context
    form = {name: str(value) for name, value in context["typed"].items() if name} | {"seen": context["seen"], "reports": "all"}
    assert people["admin"].post(path, form).status_code == 303
    before, settings = row.settings, AlertDestination.objects.get().settings
    assert settings == {**before, "reports": "all"}
    assert unseal(AlertDestination.objects.get().secrets) == {"password": MAIL["password"]}


def test_what_is_refused_as_a_whole_says_why_in_its_form(people: dict[str, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    for model in (AlertRule, AlertDestination, AlertSilence):
        monkeypatch.setattr(model, "MOST", 0)
    silence = {"rule": "", "target": "", "minutes": "60", "why": "planned"}
    for path, form, said in (("rules", RULE, "0 rules"), ("destinations", HOOK, "0 destinations"), ("silences", silence, "0 silences")):
        answer = people["admin"].post(f"/alerts/{path}", form)
        assert answer.status_code == 409
        assert f"There are {said}" in answer.content.decode()


def changed(browser: Client, row: AlertRule, **more: str) -> Any:
    """The form as it is shown, with what is typed over."""
    values = browser.get(f"/alerts/rules/{row.pk}/change").context
    typed = {name: str(value) for name, value in values["typed"].items() if name}
    return browser.post(f"/alerts/rules/{row.pk}/change", {**typed, "seen": values["seen"], **more})


def test_a_rule_is_changed_from_what_it_was(people: dict[str, Client], local: Cluster) -> None:
    """Another condition is looked at anew: what is open ends, and nobody is told; other words change nothing of that."""
    row = rule()
    firing = Alert.objects.create(rule=row, target="", state=Alert.FIRING, since_ms=1, is_told=True)
    assert changed(people["admin"], row, sentence="Act at once.").status_code == 303
    row.refresh_from_db()
    firing.refresh_from_db()
    assert (row.sentence, row.changed_by, firing.state) == ("Act at once.", "admin", Alert.FIRING)
    assert changed(people["admin"], row, threshold="77").status_code == 303
    row.refresh_from_db()
    firing.refresh_from_db()
    assert (row.threshold, row.looked_at_ms, firing.state) == (77, None, Alert.OVER)
    assert not AlertDelivery.objects.exists()
    entry = AuditEntry.objects.latest("id")
    assert (entry.before["threshold"], entry.after["threshold"]) != (77, 77)
    assert entry.after["threshold"] == 77


def test_nobody_writes_over_another_ones_change_of_a_rule(people: dict[str, Client]) -> None:
    row = rule()
    seen = people["admin"].get(f"/alerts/rules/{row.pk}/change").context["seen"]
    assert changed(people["admin"], row, threshold="5").status_code == 303
    late = changed(people["admin"], row, threshold="6", seen=seen)
    assert late.status_code == 409
    assert "meanwhile: look at it again" in late.content.decode()
    row.refresh_from_db()
    assert row.threshold == 5


def test_a_rule_of_every_cluster_keeps_its_name_and_none_waits_in_a_ring(people: dict[str, Client]) -> None:
    shipped = AlertRule.objects.filter(is_shipped=True, unless=None).first() or rule()
    assert changed(people["admin"], shipped, name="Mine").status_code == 422
    assert changed(people["admin"], shipped, unless=str(shipped.pk)).status_code == 422
    waiting = AlertRule.objects.exclude(unless=None)[0]
    other = AlertRule.objects.filter(unless=None).exclude(pk=waiting.unless_id)[0]
    assert changed(people["admin"], AlertRule.objects.get(pk=waiting.unless_id), unless=str(other.pk)).status_code == 422


def test_only_an_admin_changes_a_rule(people: dict[str, Client]) -> None:
    for name in ("viewer", "operator"):
        assert people[name].get(f"/alerts/rules/{rule().pk}/change").status_code == 403
        assert people[name].post(f"/alerts/rules/{rule().pk}/change", RULE).status_code == 403


def test_a_rule_that_cannot_be_is_refused_with_what_was_typed(people: dict[str, Client]) -> None:
    answer = people["admin"].post("/alerts/rules", {**RULE, "threshold": "many"})
    assert answer.status_code == 422 and 'id="wrong-rule-threshold">' in answer.content.decode()
    waiting = people["admin"].post("/alerts/rules", {**RULE, "unless": str(rule("UnderMinIsr").pk)})
    assert waiting.status_code == 422 and 'id="wrong-rule-unless">' in waiting.content.decode()


def test_a_rule_of_ones_own_is_deleted_once_that_is_confirmed_and_a_shipped_one_never(people: dict[str, Client]) -> None:
    people["admin"].post("/alerts/rules", RULE)
    own = f"/alerts/rules/{rule('Lag').pk}/delete"
    assert b"Delete Lag?" in people["admin"].post(own).content and rule("Lag")
    assert people["admin"].post(own, {"confirm": "yes"}).status_code == 303
    assert people["admin"].post(f"/alerts/rules/{rule().pk}/delete", {"confirm": "yes"}).status_code == 409
    assert sorted(AlertRule.objects.values_list("is_shipped", flat=True).distinct()) == [True]


def test_what_is_open_of_a_rule_that_is_switched_off_ends_and_nobody_is_told(people: dict[str, Client]) -> None:
    AlertDestination.objects.create(name="there", kind="slack", settings={"host": "h"}, set_by="x")
    alert = fired(is_told=True)
    people["admin"].post(f"/alerts/rules/{rule().pk}/switch", {"on": "0"})
    alert.refresh_from_db()
    assert alert.state == Alert.OVER and not AlertDelivery.objects.exists()


def test_a_silence_is_seen_with_who_and_why_and_can_be_ended(people: dict[str, Client]) -> None:
    fired()
    people["operator"].post("/alerts/silences", {"rule": rule().pk, "target": "2", "minutes": "60", "why": "a new disk"})
    said = text(people["viewer"])
    assert "a new disk" in said and "by operator" in said
    people["operator"].post(f"/alerts/silences/{AlertSilence.objects.get().pk}/end")
    assert "Nothing is silenced." in text(people["viewer"])


@pytest.mark.parametrize(("form", "field"), [({"minutes": "60", "why": " "}, "why"), ({"minutes": "99999999", "why": "x"}, "minutes")])
def test_a_silence_without_end_or_reason_is_refused(people: dict[str, Client], form: dict[str, str], field: str) -> None:
    answer = people["operator"].post("/alerts/silences", form)
    assert answer.status_code == 422 and f'id="wrong-silence-{field}">' in answer.content.decode()


def test_the_test_button_sends_once_and_the_page_says_what_became_of_it(people: dict[str, Client], settings: Any) -> None:
    settings.ALERTS_PRIVATE = True
    with servers.http(servers.BROKEN) as server:
        people["admin"].post("/alerts/destinations", {**HOOK, "url": server.url})
        people["admin"].post(f"/alerts/destinations/{AlertDestination.objects.get().pk}/test")
        assert "On its way." in text(people["viewer"])
        send_due(AlertDelivery.objects.get().pk, timezone.now() + timedelta(seconds=1))
    assert len(server.asked) == 1 and b'"event":"test"' in server.asked[0]
    assert "Not sent, and tried no more: The server answers 500." in text(people["viewer"])


def test_rules_of_another_cluster_are_not_found(people: dict[str, Client]) -> None:
    other = Cluster.objects.create(pk="north", name="North", bootstrap_servers="127.0.0.1:1")
    look(other, now_ms(), Snapshot("north"))
    foreign = AlertRule.objects.filter(cluster=other)[0]
    assert people["admin"].post(f"/alerts/rules/{foreign.pk}/switch", {"on": "0"}).status_code == 404
    assert people["admin"].post(f"/c/north/alerts/rules/{foreign.pk}/switch", {"on": "0"}).status_code == 303


TRY = {"figure": "group_lag", "comparison": ">", "threshold": "10", "for_s": "60"}


def tried(browser: Client, **more: str) -> str:
    return browser.get("/alerts/preview", {**TRY, **more}, headers={"HX-Request": "true"}).content.decode()


def test_a_rule_is_tried_on_the_history_with_its_holes(people: dict[str, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    lags = (20.0, 20.0, 20.0, 20.0, None, 5.0, 5.0, 5.0, 5.0)
    track = Track(from_ms=0, to_ms=86_400_000, every_ms=30_000, at_ms=tuple(at * 30_000 for at in range(len(lags))), figures={"lag": lags})
    monkeypatch.setattr("console.alert_preview.tracks", lambda *_, **__: (track,))
    said = tried(people["admin"])
    assert "It would have fired 1" in said and "1970-01-01 00:01:00" in said and "<svg" in said
    assert "of 1 of 9 samples it is not known" in said
    assert "It would not have fired" in tried(people["admin"], threshold="100")
    monkeypatch.setattr("console.alert_preview.tracks", lambda *_, **__: (structs.replace(track, at_ms=(), figures={}),))
    assert "whether it would have fired is not known" in tried(people["admin"])


def test_a_rule_is_tried_on_the_week_that_was_analysed(people: dict[str, Client], local: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """By windows of ten minutes: three above it, a hole that is not known, then below."""
    monkeypatch.setattr("console.alert_preview.tracks", lambda *_, **__: (_ for _ in ()).throw(NotRecorded("Nothing is kept of that day.")))
    assert "no window of the last 7 days" in tried(people["viewer"])
    begun = timezone.now().replace(microsecond=0) - timedelta(days=3)
    for place, lag in enumerate((50, 50, 50, None, 5, 5, 5)):
        at = begun + timedelta(minutes=10 * place)
        LagSummary.objects.create(cluster=local, group="billing", topic="orders", window_start=at, window_seconds=600, lag_max=lag)
    said = tried(people["viewer"], for_s="600")
    assert "Nothing is kept of that day." in said
    assert "In the last 7 days, of which 70\u202fmin were analysed, it would have fired 1" in said
    assert f"{begun + timedelta(minutes=20):%Y-%m-%d %H:%M:%S}" in said, "it had held for ten minutes when the second window was over"
    assert "it would not have fired" in tried(people["viewer"], threshold="60")


def test_what_was_produced_is_tried_on_the_week_over_all_topics(people: dict[str, Client], local: Cluster) -> None:
    begun = timezone.now().replace(microsecond=0) - timedelta(days=1)
    for place in range(4):
        for topic in ("orders", "clicks"):
            ThroughputSummary.objects.create(
                cluster=local, topic=topic, window_start=begun + timedelta(minutes=10 * place), window_seconds=600, bytes_per_s=600
            )
    said = tried(people["viewer"], figure="produce_bytes_per_s", threshold="1000", for_s="600")
    assert "only the analyses have it" in said and "it would have fired 1" in said and "and at the end still" in said
    assert "it would not have fired" in tried(people["viewer"], figure="produce_bytes_per_s", threshold="1500")


def test_a_figure_that_is_not_kept_cannot_be_tried_and_says_so(people: dict[str, Client]) -> None:
    assert "The history does not keep this figure" in tried(people["viewer"], figure="offline")
    assert "Give a number" in tried(people["viewer"], threshold="x")


def test_while_the_database_does_not_answer_the_overview_does_not_look_calm(
    people: dict[str, Client], shown: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_cluster: Any) -> int:
        raise DatabaseError

    monkeypatch.setattr("console.context.firing_count", away)
    assert "whether alerts fire: the console’s database does not answer" in people["viewer"].get("/").content.decode()
