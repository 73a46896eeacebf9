"""What axe-core finds wrong with a page: WCAG 2.1 A and AA, as the page stands; of a second theme what is its own, the contrast."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).resolve().parent.parent / "browser" / "vendor" / "axe" / "axe.min.js"
ALL, CONTRAST = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], ["color-contrast"]
RUN = """async ([theme, runOnly]) => {
  document.documentElement.dataset.theme = theme;
  const found = await axe.run(document, { runOnly, resultTypes: ["violations"] });
  const why = (one) => one.failureSummary.split("\\n").slice(1).join(";").slice(0, 300);
  return found.violations.flatMap((rule) => rule.nodes.map((one) => [theme, rule.id, one.html.slice(0, 160), why(one)].join(": ")));
}"""
THEMED = """(theme) => {
  if (theme === null) delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = theme;
}"""


@cache
def _source() -> str:
    return AXE.read_text(encoding="utf-8")


def violations(page: Page, *themes: str) -> list[str]:
    """In these themes, both where none is named; the page keeps its own afterwards."""
    before = page.evaluate("document.documentElement.dataset.theme ?? null")
    page.evaluate(_source())
    asked = zip(themes or ("light", "dark"), (ALL, CONTRAST), strict=False)
    found = [one for theme, rules in asked for one in page.evaluate(RUN, [theme, rules])]
    page.evaluate(THEMED, before)
    return found
