"""Health reports on pages, as files and by REST."""

from __future__ import annotations

import json
import re
import zlib
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from broker_core.contract.groups import Group
from console.models import HealthReport, Job
from console.report_files import MEDIA
from console.report_pdf import pdf
from console.rules.report import FORMAT, Facts, changes, report
from console.rules.report.changes import KINDS
from console.rules.report.mail import mail
from tests.console.test_api import assert_problem
from tests.support.live_rows import partition, some
from tests.support.openapi import check_answer

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
STRANGE = "данные\nX: 1 中 <b>"
BASE = "/api/v1/clusters/local/reports"
ADDRESS = "https://console.example.org/c/north/topics/orders/3"
NO_LEADER = "orders-3 has no leader: it takes no reads and no writes."


def behind(name: str = STRANGE) -> Group:
    return some(Group, group=name, topics=(), attention="warn", lag=5, lag_s=30.0, lag_basis="record", trend="stalled")


TROUBLED = report(Facts(trouble=[partition("orders", 3, "offline", assignment=(1, 2))], groups=[behind()]))
CALM = report(Facts())


def keep(local: Any, made: Any, before: HealthReport | None = None, **known: Any) -> HealthReport:
    told = {name: made[name] for name in ("level", "sentence", "checks")}
    changed = changes({"checks": before.checks} if before else None, made)
    known = {"format": FORMAT, "basis": "feed ", "compared": before.pk if before else None, "at": AT, **known}
    return HealthReport.objects.create(cluster=local, changed=changed, **told, **known)


@pytest.fixture
def two(local: Any) -> tuple[HealthReport, HealthReport]:
    """A calm one, and the troubled one after it."""
    before = keep(local, CALM)
    return before, keep(local, TROUBLED, before)


# --- pages


@pytest.fixture
def stage(shown: Any, kafka: Any) -> None:
    """Pages have the pretended cluster."""


@pytest.mark.usefixtures("stage")
@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_everybody_reads_reports_and_only_operators_ask_for_one(people: dict[str, Client], two: Any, role: str) -> None:
    before, after = two
    browser = people[role]
    for path in ("/health", f"/health/{after.pk}", f"/health/{before.pk}", "/health/compare", f"/health/{after.pk}/pdf"):
        assert browser.get(path).status_code == 200, path
    assert ("Check now" in browser.get("/health").content.decode()) is (role != "viewer")
    assert browser.post("/health/run").status_code == (403 if role == "viewer" else 303)
    assert Job.objects.filter(kind="health_report").exists() is (role != "viewer")


@pytest.mark.usefixtures("stage")
def test_the_page_has_what_changed_then_the_worst_then_what_is_not_known(people: dict[str, Client], two: Any) -> None:
    page = people["viewer"].get("/health").content.decode()
    order = ["What changed since report", "Findings, worst first", "HW-012 Group lag", "Not known", "Nothing found</h2>"]
    places = [page.index(words) for words in order]
    assert places == sorted(places)
    assert '<a href="/topics/orders/3">partition orders-3</a>' in page
    assert "HW-010 ISR flapping: unknown, because events are not kept of this cluster." in page
    assert "<b>" not in page, "a group's name is no markup"


@pytest.mark.usefixtures("stage")
def test_any_two_are_compared(people: dict[str, Client], local: Any, two: Any) -> None:
    before, after = two
    again = keep(local, CALM, after)
    page = people["viewer"].get(f"/health/compare?since={before.pk}&report={after.pk}").content.decode()
    assert re.findall(r'data-kind="(\w+)">', page) == ["new", "new"]
    page = people["viewer"].get("/health/compare").content.decode()
    assert re.findall(r'data-kind="(\w+)">', page) == ["gone", "gone"], "the last two where none are named"
    same = people["viewer"].get(f"/health/compare?since={before.pk}&report={again.pk}").content.decode()
    assert "Nothing." in same
    assert " data-old>" not in same, "the page is not told as old for showing an old report"
    old = keep(local, CALM, format=1)
    assert "not made in the same way" in people["viewer"].get(f"/health/compare?since={old.pk}&report={after.pk}").content.decode()
    assert people["viewer"].get("/health/compare?since=999&report=1").status_code == 404


@pytest.mark.usefixtures("stage")
def test_a_report_of_before_there_were_numbers_is_still_read(people: dict[str, Client], local: Any) -> None:
    from importlib import import_module

    old = import_module("console.migrations.0014_reports")
    check = {"id": "lag", "title": "Group lag", "level": "warn", "sentence": "1 found.", "items": ["Group a is behind."]}
    changed = {kind: old._changed(kind, ["Group a is behind."] if kind == "new" else []) for kind in KINDS}
    row = HealthReport.objects.create(cluster=local, level="warn", sentence="Look.", checks=[old._check(check)], changed=changed)
    assert "Group a is behind." in people["viewer"].get("/health").content.decode()
    for kind in MEDIA:
        assert people["viewer"].get(f"/health/{row.pk}/{kind}").status_code == 200


@pytest.mark.usefixtures("stage")
def test_there_is_no_such_report(people: dict[str, Client], two: Any) -> None:
    for path in ("/health/999", "/health/999/pdf", f"/health/{two[0].pk}/doc", f"/health/{10**30}"):
        assert people["viewer"].get(path).status_code == 404, path


@pytest.mark.usefixtures("stage")
@pytest.mark.parametrize("kind", MEDIA)
def test_files(people: dict[str, Client], two: Any, kind: str) -> None:
    answer = people["viewer"].get(f"/health/{two[1].pk}/{kind}")
    assert answer.headers["Content-Type"] == MEDIA[kind]
    assert answer.headers["Content-Disposition"] == f'attachment; filename="health-local-{two[1].pk}.{kind}"'
    if kind == "pdf":
        assert answer.content.startswith(b"%PDF-")
        return
    text = answer.content.decode()
    assert NO_LEADER in text
    if kind in ("html", "txt"):
        assert "http://testserver/topics/orders/3" in text


# --- the formats


def value(local_name: str = "local", made: Any = TROUBLED, **known: Any) -> dict[str, Any]:
    return {"id": 2, "at": AT, "compared": 1, "changed": changes(CALM, made), **made, **known}


def test_a_mail() -> None:
    found = mail(value(), "local", "https://console.example.org/c/north")
    assert found.subject == "local: in danger (2 new), health report of 2026-01-31 12:00 UTC"
    for body in (found.text, found.html):
        for words in (
            "HW-001",
            "orders-3 has no leader",
            "New",
            "Not known",
            "https://console.example.org/c/north/topics/orders/3",
            "данные",
        ):
            assert words in body
    assert not re.search(r"<(style|script|link|img)\b", found.html), "a mail needs nothing from elsewhere"
    assert "<b>" not in found.html
    assert "\nX: 1" not in found.text, "a group's name begins no line of ours"
    assert "href" not in mail(value(), "local").html, "no links where nobody knows whereto"


def test_a_subject_is_one_line_of_bounded_length() -> None:
    found = mail(value(), "a\r\nBcc: x" + "y" * 500)
    assert "\n" not in found.subject
    assert "\r" not in found.subject
    assert len(found.subject) == 150


def test_a_first_report_says_that_there_is_nothing_to_compare_with() -> None:
    words = "There is no earlier report that this one can be compared with."
    found = mail(value(compared=None, changed=changes(None, TROUBLED)), "local")
    assert words in found.text
    assert words in found.html
    assert words in printed(pdf(value(compared=None, changed=changes(None, TROUBLED)), "local"))


def test_a_pdf_has_every_sentence() -> None:
    made = pdf(value(), "local")
    text = printed(made)
    for words in (
        "Health of local, 2026-01-31 12:00 UTC",
        "HW-001 bad",
        NO_LEADER,
        "Not known",
    ):
        assert words in text
    assert "Group данные‹U+000A›X: 1 ‹U+4E2D› <b> is behind." in text, "what the font has no shape for is written as its number"
    assert made == pdf(value(), "local"), "the same report is the same file"


def test_a_long_report_has_several_pages() -> None:
    many = report(Facts(trouble=[partition("x" * 249, n, "offline") for n in range(60)]))
    assert pdf(value(made=many), "local").count(b"/Type /Page\n") > 1
    assert "40 more of 60." in printed(pdf(value(made=many), "local"))


def printed(document: bytes) -> str:
    """The text of a PDF of fpdf2's: glyph numbers in its pages, and the map that says which characters they are."""
    streams = [
        zlib.decompress(found) for found in re.findall(rb"/FlateDecode\n/Length \d+\n>>\nstream\n(.*?)\nendstream", document, re.DOTALL)
    ]
    maps = next(found for found in re.findall(rb"beginbfchar\n(.*?)endbfchar", document, re.DOTALL)).decode()
    glyphs = {int(code, 16): bytes.fromhex(text).decode("utf-16-be") for code, text in re.findall(r"<(\w{4})> <(\w+)>\n", maps)}
    lines = [found for one in streams for found in re.findall(rb"\(((?:\\.|[^\\)])*)\) Tj", one, re.DOTALL)]
    return " ".join(_line(line, glyphs) for line in lines)


def _line(raw: bytes, glyphs: dict[int, str]) -> str:
    plain = re.sub(rb"\\(.)", lambda found: {b"n": b"\n", b"r": b"\r"}.get(found[1], found[1]), raw, flags=re.DOTALL)
    return "".join(glyphs[int.from_bytes(plain[n : n + 2], "big")] for n in range(0, len(plain), 2))


# --- REST


def ask(headers: dict[str, str], path: str) -> Any:
    answer = Client().get(path, headers=headers)
    kind = answer.headers["Content-Type"].partition(";")[0]
    check_answer("GET", path, answer.status_code, kind, json.loads(answer.content) if "json" in kind else answer.content.decode("latin-1"))
    return answer


def test_reports_are_listed_and_told_one_by_one(tokens: dict[str, dict[str, str]], local: Any, two: Any) -> None:
    before, after = two
    page = json.loads(ask(tokens["viewer"], f"{BASE}?limit=1").content)
    assert [row["id"] for row in page["items"]] == [after.pk]
    assert [row["id"] for row in json.loads(ask(tokens["viewer"], f"{BASE}?cursor={page['next']}").content)["items"]] == [before.pk]
    found = json.loads(ask(tokens["viewer"], f"{BASE}/{after.pk}").content)
    first = found["checks"][0]
    assert (first["number"], first["id"], first["count"]) == ("HW-001", "offline", 1)
    assert first["items"] == [NO_LEADER]
    assert first["findings"][0]["href"] == "/topics/orders/3"
    assert found["compared"] == before.pk
    assert found["changed"]["counts"] == {"new": 2, "worse": 0, "better": 0, "gone": 0, "uncertain": 0}
    assert_problem(ask(tokens["viewer"], f"{BASE}/999"), 404)


def test_changes_between_any_two(tokens: dict[str, dict[str, str]], local: Any, two: Any) -> None:
    before, after = two
    found = json.loads(ask(tokens["viewer"], f"{BASE}/{before.pk}/changes?since={after.pk}").content)
    assert (found["since"], found["report"], found["counts"]["gone"]) == (after.pk, before.pk, 2)
    assert [(one["kind"], one["number"], one["key"]) for one in found["differences"]] == [
        ("gone", "HW-001", "orders-3"),
        ("gone", "HW-012", STRANGE),
    ]
    default = json.loads(ask(tokens["viewer"], f"{BASE}/{after.pk}/changes").content)
    assert (default["since"], default["counts"]["new"]) == (before.pk, 2)
    assert_problem(ask(tokens["viewer"], f"{BASE}/{before.pk}/changes"), 400)
    old = keep(local, CALM, format=1)
    assert_problem(ask(tokens["viewer"], f"{BASE}/{after.pk}/changes?since={old.pk}"), 400)
    assert_problem(ask(tokens["viewer"], f"{BASE}/{after.pk}/changes?since=999"), 404)
    assert_problem(ask(tokens["viewer"], f"{BASE}/{after.pk}/changes?since=0"), 400)


def test_a_report_as_pdf_and_as_mail(tokens: dict[str, dict[str, str]], two: Any) -> None:
    answer = ask(tokens["viewer"], f"{BASE}/{two[1].pk}/pdf")
    assert (answer.headers["Content-Type"], answer.content[:5]) == ("application/pdf", b"%PDF-")
    found = json.loads(ask(tokens["viewer"], f"{BASE}/{two[1].pk}/mail").content)
    assert set(found) == {"subject", "text", "html"}
    assert "http://testserver/topics/orders/3" in found["text"]


def test_reports_want_a_token(two: Any) -> None:
    for path in ("", "/pdf", "/mail", "/changes?since=1"):
        assert Client().get(f"{BASE}/{two[1].pk}{path}").status_code == 401
