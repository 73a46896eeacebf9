"""What is told of an alert elsewhere: as JSON for a webhook, as Slack's incoming webhooks take it, as a mail; and when it is tried again.
Pure."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, Literal

from msgspec import Struct

from console.rules.report.mail import Mail

What = Literal["fired", "resolved", "test"]
PAUSES_S = (15, 60, 300, 900, 3600)
"""Before the second try, the third, …: after the last one it has failed."""
SIGNS = {"fired": "▲", "resolved": "✓", "test": "•"}
WORDS = {"fired": "fires", "resolved": "is over", "test": "is a test"}
SUBJECT_CHARACTERS_MAX = 150


class Notice(Struct, frozen=True, kw_only=True):
    """`since` and `at` are UTC; `value` is in words, empty where there is none; `url` leads to the page where to act, empty where the
    console does not know its own address."""

    event: What
    rule: str
    severity: str
    cluster: str
    target: str
    sentence: str
    value: str
    since: str
    at: str
    url: str = ""


def pause_s(tries: int) -> int | None:
    """After so many tries that failed; None where no other follows."""
    return PAUSES_S[tries - 1] if tries <= len(PAUSES_S) else None


def headline(notice: Notice) -> str:
    """One line: whatever anything is called, nothing of it begins another."""
    where = f"{notice.cluster}, {notice.target}" if notice.target else notice.cluster
    words = f"{SIGNS[notice.event]} {notice.rule} {WORDS[notice.event]}: {where} ({notice.severity})"
    line = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    return line if len(line) <= SUBJECT_CHARACTERS_MAX else line[: SUBJECT_CHARACTERS_MAX - 1] + "…"


def lines(notice: Notice) -> list[str]:
    value = [f"The figure: {notice.value}."] if notice.value else []
    return [notice.sentence, *value, f"Since {notice.since}; told {notice.at}."]


def webhook(notice: Notice, key: str) -> dict[str, Any]:
    """`key` is the same each time that the same notice is sent."""
    return {"key": key, **{field: getattr(notice, field) for field in notice.__struct_fields__}}


def slack(notice: Notice) -> dict[str, str]:
    """Slack reads `<…>` as a link or a call of people, which names are not to make."""
    head, *rest = map(_plain, [headline(notice), *lines(notice)])
    link = [f"<{_plain(notice.url)}|Open the page>"] if notice.url else []
    return {"text": "\n".join([f"*{head}*", *rest, *link])}


def _plain(words: str) -> str:
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def mail(notice: Notice) -> Mail:
    return Mail(headline(notice), "\n".join([headline(notice), "", *lines(notice), *filter(None, [notice.url])]) + "\n", "")


def signature(secret: str, body: bytes) -> str:
    """Of a webhook's body, for the header `X-Highwater-Signature`."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
