"""What test runners write, read as cases."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.case import Case, Outcome
from tests.conformance.reading import junit

XML = """<testsuites><testsuite>
<testcase classname="test.test_a" name="test_good"/>
<testcase classname="test.test_a" name="test_bad[1]"><failure message="AssertionError: 1 != 2&#10;more">trace</failure></testcase>
<testcase classname="test.test_a" name="test_not"><skipped message="needs Kafka 4">x</skipped></testcase>
<testcase classname="test.test_a" name="test_left"/>
<testcase classname="test.test_a" name="test_left"><error message="while it was taken down"/></testcase>
</testsuite></testsuites>"""


def test_pytest_s_results(tmp_path: Path) -> None:
    path = tmp_path / "results.xml"
    path.write_text(XML)
    assert junit(path) == [
        Case("test.test_a.test_bad[1]", Outcome.FAILED, "AssertionError: 1 != 2"),
        Case("test.test_a.test_good", Outcome.PASSED),
        Case("test.test_a.test_left", Outcome.FAILED, "while it was taken down"),
        Case("test.test_a.test_not", Outcome.SKIPPED, "needs Kafka 4"),
    ]
