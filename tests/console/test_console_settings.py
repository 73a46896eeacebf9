"""The console's own settings: shown, searched, changed with a difference first, and used."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from console.actions.topics import replicas_warn
from console.analyses import analytics_due
from console.models import AuditEntry, ConsoleSetting
from console.rules.settings.of_console import KNOWN, wrong_with

PATH = "/settings/console"
WARN = "replicas.warn"


@pytest.fixture(autouse=True)
def stage(shown: Any) -> None:
    """A cluster that is seen."""


def fields(page: str, name: str) -> bool:
    return f'name="v:{name}"' in page


def test_what_can_be_set_is_told_from_what_is_read_at_a_start(people: dict[str, Client]) -> None:
    page = people["admin"].get(PATH).content.decode()
    assert fields(page, WARN) and fields(page, "analytics.minutes") and not fields(page, "report.hour")
    assert "read at its start only" in page and "HIGHWATER_HISTORY_HOURS" in page and 'value="200 MB/s"' not in page
    assert [group[0] for group in people["admin"].get(PATH).context["groups"]] == ["live", "start"]
    found = people["admin"].get(f"{PATH}?q=spark looks").context
    assert (found["shown"], found["total"]) == (1, len(KNOWN))
    assert not fields(people["viewer"].get(PATH).content.decode(), WARN)
    assert 'href="/settings/console"' in people["viewer"].get("/settings").content.decode()
    assert people["admin"].get("/c/local/settings/console").status_code in (302, 404)


def test_a_change_is_shown_first_and_then_saved(people: dict[str, Client]) -> None:
    asked = people["admin"].post(PATH, {f"v:{WARN}": "10", f"w:{WARN}": "4000", "v:analytics.minutes": "2 h", "w:analytics.minutes": "15"})
    rows = [(one.label, one.before, one.after) for one in asked.context["preview"].changes]
    assert rows == [(WARN, "4000", "10"), ("analytics.minutes", "15", "120")]
    assert not ConsoleSetting.objects.exists() and not AuditEntry.objects.exists()
    save = {f"set:{WARN}": "10", "set:analytics.minutes": "120", "seen": asked.context["preview"].seen, "save": "yes"}
    assert people["admin"].post(PATH, save).status_code == 303
    assert dict(ConsoleSetting.objects.values_list("name", "value")) == {WARN: "10", "analytics.minutes": "120"}
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.before, entry.after) == (
        "change console settings",
        {WARN: "4000", "analytics.minutes": "15"},
        {WARN: "10", "analytics.minutes": "120"},
    )
    page = people["admin"].get(PATH)
    assert [group[0] for group in page.context["groups"]] == ["own", "live", "start"], "what is set comes first"
    assert "Last changes" in page.content.decode() and 'name="put_back"' not in page.content.decode()
    assert people["admin"].post(PATH, {"reset": WARN, "save": "yes"}).status_code == 303
    assert not ConsoleSetting.objects.filter(pk=WARN).exists()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({f"v:{WARN}": "-1"}, "whole number from 0"),
        ({f"v:{WARN}": "many"}, "whole number from 0"),
        ({"v:analytics.minutes": "3 apples"}, "no length of time"),
        ({"v:analytics.minutes": "30 d"}, "10 080 min"),
        ({"v:records.bytes.per.second": "1"}, "from 1 000 000"),
        ({"v:analytics.mode": "always"}, "Give one of interval, continuous."),
        ({"v:report.hour": "7"}, "at a start only"),
        ({"v:nothing": "7"}, ""),
        ({}, "Nothing differs"),
    ],
)
def test_what_is_wrong_stands_at_its_field(people: dict[str, Client], typed: dict[str, str], words: str) -> None:
    answer = people["admin"].post(PATH, typed)
    assert answer.status_code == 422 and words in answer.content.decode().replace("\u202f", " ")
    assert not ConsoleSetting.objects.exists()


@pytest.mark.parametrize("save", [{"set:nothing": "1"}, {"set:report.hour": "7"}, {f"set:{WARN}": "x"}, {"reset": "nothing"}, {}])
def test_what_was_never_offered_is_not_saved(people: dict[str, Client], save: dict[str, str]) -> None:
    assert people["admin"].post(PATH, {**save, "save": "yes"}).status_code == 422
    assert not ConsoleSetting.objects.exists()


def test_what_changed_meanwhile_is_shown_again(people: dict[str, Client]) -> None:
    asked = people["admin"].post(PATH, {f"v:{WARN}": "10", f"w:{WARN}": "4000"})
    ConsoleSetting.objects.create(pk=WARN, value="20", set_by="somebody")
    save = {f"set:{WARN}": "10", "seen": asked.context["preview"].seen, "save": "yes"}
    again = people["admin"].post(PATH, save)
    assert again.status_code == 200 and "Somebody changed these settings meanwhile" in again.content.decode()
    assert [(one.before, one.after) for one in again.context["preview"].changes] == [("20", "10")]


def test_only_an_admin_changes_them(people: dict[str, Client]) -> None:
    assert people["operator"].post(PATH, {f"set:{WARN}": "1", "save": "yes"}).status_code == 403
    assert AuditEntry.objects.latest("id").outcome == "refused"
    assert not ConsoleSetting.objects.exists()


def test_they_are_used(local: Any, settings: LazySettings) -> None:
    assert replicas_warn() == settings.REPLICAS_WARN
    ConsoleSetting.objects.create(pk=WARN, value="0", set_by="x")
    assert replicas_warn() == 0
    assert analytics_due(local) is not None
    ConsoleSetting.objects.create(pk="analytics.minutes", value="0", set_by="x")
    assert analytics_due(local) is None


@pytest.mark.parametrize("name", [name for name, known in KNOWN.items() if known.least is not None])
def test_each_takes_its_bounds_and_no_more(name: str) -> None:
    known = KNOWN[name]
    assert known.least is not None
    assert [wrong_with(name, str(value)) for value in (known.least, known.most)] == ["", ""]
    assert all(wrong_with(name, str(value)) for value in (known.least - 1, known.most + 1))
