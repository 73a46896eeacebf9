"""The health report: numbered rules over a cluster's facts (`rules.py`), and what differs between two (`changes.py`).

A report is {level, sentence, checks}; a check is {id, number, title, level, sentence, unknown, count, findings, keys}: its worst
`FINDINGS_LIMIT` findings in full, and of up to `KEYS_LIMIT` the key, level and weight, by which two reports are compared.
"""

from console.rules.report.build import FINDINGS_LIMIT, FORMAT, report
from console.rules.report.changes import changes
from console.rules.report.facts import Facts

__all__ = ["FINDINGS_LIMIT", "FORMAT", "Facts", "changes", "report"]
