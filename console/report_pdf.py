"""A health report as a PDF, by fpdf2 with one font beside it (`console/fonts`, DejaVu Sans: Latin, Greek, Cyrillic, Arabic and more).

A character that the font has no shape for, as a Chinese one in a group's name, and one that has none at all, as a line end, is written as
`‹U+4E2D›`: what is printed tells names apart.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fpdf import FPDF

from console.rules.report import told
from console.rules.report.mail import INK, title
from console.rules.report.told import Report, Said
from console.rules.states import SIGNS
from console.rules.words import THIN

FONT = Path(__file__).resolve().parent / "fonts" / "DejaVuSans.ttf"
NAME = "DejaVu"
PAGE_MM, EDGE_MM = 210, 16
INDENT_MM = 6
FINDING_MM = 28
"""What a finding mostly takes: one is not parted from its head."""
BODY_PT, SMALL_PT, HEAD_PT, TITLE_PT = 10, 9, 13, 17
MUTED = "#52605b"
PLAIN = "#16201d"


def pdf(report: Report, cluster: str) -> bytes:
    """The same in the same bytes: the document's date is the report's."""
    page = _Page()
    page.set_creation_date(report["at"])
    page.set_title(page.printable(title(report, cluster)))
    page.say(title(report, cluster), TITLE_PT)
    page.say(f"{SIGNS[report['level']]} {report['sentence']}", HEAD_PT - 1, INK[report["level"]])
    page.head("What changed")
    _changes(page, report)
    if found := told.findings(report):
        page.head("Findings")
        for one in found:
            _finding(page, one)
        page.lines(told.left_out(report))
    if unknown := told.unknown(report):
        page.head("Not known")
        page.lines(unknown)
    page.head("Nothing found by")
    page.say(", ".join(told.clean(report)) or "no rule", SMALL_PT, MUTED)
    return bytes(page.output())


def _changes(page: _Page, report: Report) -> None:
    if report["compared"] is None:
        page.say("There is no earlier report that this one can be compared with.")
        return
    page.say(f"Since report {report['compared']}: {told.summary(report['changed']) or 'nothing'}.")
    for change in told.changed(report["changed"]):
        page.lines([f"{change.head}: {one['number']} {one['sentence']}" for one in change.items])
        page.lines([f"{change.head}: {told.more_words(change)}"] if change.more else [])


def _finding(page: _Page, one: Said) -> None:
    page.ln(1.5)
    if page.will_page_break(FINDING_MM):
        page.add_page()
    page.say(f"{SIGNS[one.level]} {one.number} {one.word}", SMALL_PT, INK[one.level])
    page.say(one.sentence, indent_mm=INDENT_MM)
    for words in (one.evidence, one.advice):
        if words:
            page.say(words, SMALL_PT, MUTED, INDENT_MM)


class _Page(FPDF):
    def __init__(self) -> None:
        super().__init__(format="A4")
        self.set_margin(EDGE_MM)
        self.set_auto_page_break(True, EDGE_MM)
        self.add_font(NAME, fname=FONT)
        self.shapes = _shapes(self.fonts[NAME.lower()])
        self.add_page()

    def head(self, words: str) -> None:
        self.ln(3)
        self.say(words, HEAD_PT)

    def lines(self, some: list[str]) -> None:
        for words in some:
            self.say(words, SMALL_PT, indent_mm=INDENT_MM)

    def say(self, words: str, points: float = BODY_PT, ink: str = PLAIN, indent_mm: float = 0) -> None:
        self.set_font(NAME, size=points)
        self.set_text_color(ink)
        self.set_x(EDGE_MM + indent_mm)
        room = PAGE_MM - 2 * EDGE_MM - indent_mm
        self.multi_cell(room, points * 0.5, self.printable(words), align="L", new_x="LMARGIN", new_y="NEXT")

    def footer(self) -> None:
        self.set_y(-EDGE_MM + 2)
        self.set_font(NAME, size=8)
        self.set_text_color(MUTED)
        self.cell(0, 5, f"{self.page_no()}", align="R")

    def printable(self, words: str) -> str:
        return "".join(c if ord(c) in self.shapes and (c.isprintable() or c == THIN) else f"‹U+{ord(c):04X}›" for c in words)


def _shapes(font: Any) -> frozenset[int]:
    """The characters that the font has."""
    return frozenset(font.cmap)
