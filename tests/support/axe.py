"""What axe-core finds wrong with a page: WCAG 2.1 A and AA, as the page stands; of the dark theme what is its own, the contrast."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).resolve().parent.parent / "browser" / "vendor" / "axe" / "axe.min.js"
THEMES = {"light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], "dark": ["color-contrast"]}
"""With what axe-core is to look for."""
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


def violations(page: Page) -> list[str]:
    """Of both themes; the page keeps its own afterwards."""
    before = page.evaluate("document.documentElement.dataset.theme ?? null")
    page.evaluate(_source())
    found = [one for theme in THEMES.items() for one in page.evaluate(RUN, list(theme))]
    page.evaluate(THEMED, before)
    return found
