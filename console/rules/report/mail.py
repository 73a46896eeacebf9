"""A report as a mail: subject, plain text, and HTML that needs nothing from elsewhere (styles inline, no pictures). Pure.

`address` is where the cluster's pages are for who reads it (`https://console.example.org/c/north`); empty: without links.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from html import escape
from typing import NamedTuple

from console.rules.report import told
from console.rules.report.told import Change, Report, Said, visible
from console.rules.states import CLUSTER_WORDS, SIGNS

SUBJECT_CHARACTERS_MAX = 150
INK = {"bad": "#b0241c", "warn": "#8a5300", "notice": "#1d5fa6", "ok": "#17723f", "unknown": "#52605b"}
BODY = "margin:0;padding:16px;background:#f3f5f4;color:#16201d;font:15px/1.45 system-ui,'Segoe UI',Roboto,sans-serif"
PANEL = "max-width:720px;margin:0 auto 16px;padding:12px 16px;background:#ffffff;border:1px solid #d5dcd9;border-radius:8px"
HEAD = "margin:0 0 8px;font-size:17px"
MUTED = "color:#52605b"


class Mail(NamedTuple):
    subject: str
    text: str
    html: str


def mail(report: Report, cluster: str, address: str = "") -> Mail:
    return Mail(_subject(report, cluster), _text(report, cluster, address), _html(report, cluster, address))


def title(report: Report, cluster: str) -> str:
    return f"Health of {cluster}, {_moment(report)} UTC"


def _subject(report: Report, cluster: str) -> str:
    """One line: whatever a cluster is called, nothing of it begins another header."""
    news = told.summary(report["changed"])
    words = f"{cluster}: {CLUSTER_WORDS[report['level']]}" + (f" ({news})" if news else "") + f", health report of {_moment(report)} UTC"
    line = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    return line if len(line) <= SUBJECT_CHARACTERS_MAX else line[: SUBJECT_CHARACTERS_MAX - 1] + "…"


def _moment(report: Report) -> str:
    return str(report["at"].astimezone(UTC).strftime("%Y-%m-%d %H:%M"))


# --- plain text


def _text(report: Report, cluster: str, address: str) -> str:
    lines = [title(report, cluster), f"{SIGNS[report['level']]} {report['sentence']}", ""]
    lines += ["What changed", *_text_changes(report), ""]
    if found := told.findings(report):
        lines += ["Findings", *(line for one in found for line in _text_finding(one, address)), *told.left_out(report), ""]
    if unknown := told.unknown(report):
        lines += ["Not known", *unknown, ""]
    lines += ["Nothing found by: " + (", ".join(told.clean(report)) or "no rule") + "."]
    return "\n".join(lines) + "\n"


def _text_changes(report: Report) -> Iterator[str]:
    if report["compared"] is None:
        yield "There is no earlier report that this one can be compared with."
        return
    yield f"Since report {report['compared']}: {told.summary(report['changed']) or 'nothing'}."
    for change in told.changed(report["changed"]):
        yield from (f"- {change.head}: {one['number']} {visible(one['sentence'])}" for one in change.items)
        yield from [f"- {change.head}: {told.more_words(change)}"] if change.more else []


def _text_finding(one: Said, address: str) -> Iterator[str]:
    yield f"{SIGNS[one.level]} {one.number} {one.word}: {visible(one.sentence)}"
    yield from (f"    {visible(words)}" for words in (one.evidence, one.advice) if words)
    yield from [f"    {address}{one.href}"] if address and one.href else []


# --- HTML


def _html(report: Report, cluster: str, address: str) -> str:
    level = report["level"]
    head = f'<h1 style="{HEAD}">{escape(title(report, cluster))}</h1>'
    verdict = f'<p style="margin:0;color:{INK[level]}"><strong>{SIGNS[level]} {escape(report["sentence"])}</strong></p>'
    parts = [_panel(head + verdict), _panel(f'<h2 style="{HEAD}">What changed</h2>' + "".join(_html_changes(report)))]
    if found := told.findings(report):
        rows = "".join(_html_finding(one, address) for one in found) + "".join(map(_paragraph, told.left_out(report)))
        parts.append(_panel(f'<h2 style="{HEAD}">Findings</h2>{rows}'))
    if unknown := told.unknown(report):
        parts.append(_panel(f'<h2 style="{HEAD}">Not known</h2>' + "".join(map(_paragraph, unknown))))
    clean = ", ".join(told.clean(report)) or "no rule"
    parts.append(_panel(f'<p style="margin:0;{MUTED}">Nothing found by: {escape(clean)}.</p>'))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title(report, cluster))}</title></head>'
        f'<body style="{BODY}">{"".join(parts)}</body></html>'
    )


def _panel(inner: str) -> str:
    return f'<div style="{PANEL}">{inner}</div>'


def _paragraph(words: str) -> str:
    return f'<p style="margin:0 0 6px">{escape(words)}</p>'


def _html_changes(report: Report) -> Iterator[str]:
    if report["compared"] is None:
        yield _paragraph("There is no earlier report that this one can be compared with.")
        return
    yield _paragraph(f"Since report {report['compared']}: {told.summary(report['changed']) or 'nothing'}.")
    for change in told.changed(report["changed"]):
        yield from (_html_change(change, one["number"], visible(one["sentence"])) for one in change.items)
        yield from [_paragraph(f"{change.head}: {told.more_words(change)}")] if change.more else []


def _html_change(change: Change, number: str, words: str) -> str:
    return f'<p style="margin:0 0 6px"><strong>{change.head}</strong> {escape(number)} {escape(words)}</p>'


def _html_finding(one: Said, address: str) -> str:
    link = f'<br><a href="{escape(address + one.href)}">{escape(one.place)}</a>' if address and one.href else ""
    words = "".join(f'<br><span style="{MUTED}">{escape(visible(said))}</span>' for said in (one.evidence, one.advice) if said)
    sign = f'<strong style="color:{INK[one.level]}">{SIGNS[one.level]} {one.number} {one.word}</strong>'
    return f'<p style="margin:0 0 12px">{sign}<br>{escape(visible(one.sentence))}{words}{link}</p>'
