"""The results that test runners write, as cases. Pure but for the file."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from tests.conformance.case import Case, Outcome, short

BAD = ("failure", "error")


def junit(path: Path) -> list[Case]:
    """pytest's XML. A test that failed while it was set up or taken down comes once, as failed."""
    found: dict[str, Case] = {}
    for element in ElementTree.parse(path).iter("testcase"):
        case = _junit_case(element)
        if case.name not in found or case.outcome is Outcome.FAILED:
            found[case.name] = case
    return sorted(found.values(), key=lambda case: case.name)


def _junit_case(element: ElementTree.Element) -> Case:
    place = element.get("classname", "")
    name = f"{place}.{element.get('name')}" if place else element.get("name", "")
    for tag in BAD:
        if (bad := element.find(tag)) is not None:
            return Case(name, Outcome.FAILED, short(bad.get("message") or bad.text or ""))
    skipped = element.find("skipped")
    if skipped is not None:
        return Case(name, Outcome.SKIPPED, short(skipped.get("message") or skipped.text or ""))
    return Case(name, Outcome.PASSED)
