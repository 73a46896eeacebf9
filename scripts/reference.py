"""Makes the tables of docs/settings.md (settings of brokers and topics), docs/protocol.md, docs/metrics.md and docs/health.md (rules of the
health report) from the code: `python scripts/reference.py`.

`--check` only says, by its status, whether the pages are as they would be made. What stands in docs/settings.md and docs/health.md above
the mark is kept.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from broker_core.config import BROKER_KEYS, HIDDEN, IDLE_KEYS, TOPIC_KEYS, Key  # noqa: E402
from broker_core.config.departures import OF_BROKERS, OWN  # noqa: E402
from broker_core.config.idle import only_value, why_without_effect  # noqa: E402
from broker_core.handlers.registry import full_registry  # noqa: E402
from broker_core.protocol.api import MAX_VERSION_3_9, OF_ZOOKEEPER_BROKERS, VENDOR_KEY_MIN, ApiKey  # noqa: E402
from broker_core.protocol.departures import BY_KEY, NOT_SERVED, OF_ALL_KEYS  # noqa: E402
from broker_core.telemetry.metrics import BrokerMetrics  # noqa: E402
from broker_core.telemetry.old_requests import Sender  # noqa: E402
from broker_core.telemetry.prometheus import full_name, render  # noqa: E402
from console.rules.metrics.defined import SECTIONS, Metric, unit_of  # noqa: E402
from console.rules.report.rules import RULES  # noqa: E402

SETTINGS, PROTOCOL, METRICS, HEALTH = (ROOT / "docs" / f"{name}.md" for name in ("settings", "protocol", "metrics", "health"))
OF_BROKERS_GAUGES = ("broker_core/server/broker.py", "broker_core/server/main.py", "broker_core/server/process_gauges.py")
"""Where brokers name what they export beside their counters."""
MARK = "<!-- made by scripts/reference.py: what follows is not written by hand -->"


def settings_page(present: str) -> str:
    kept = present.partition(MARK)[0].rstrip()
    return "\n".join([kept, "", MARK, "", *_brokers(), "", *_topics(), ""])


def _brokers() -> Iterable[str]:
    keys = sorted([*BROKER_KEYS.values(), *IDLE_KEYS.values()], key=lambda key: key.name)
    ours = sum(not key.name.startswith("highwater.") for key in BROKER_KEYS.values())
    yield "## Settings of brokers"
    yield ""
    yield (
        f"All settings of Apache Kafka 3.9's brokers: {ours} have an effect, {len(IDLE_KEYS)} are taken without one, as the last column\n"
        "says; of those that are set a broker says so at its start, a line each. *Changed* is what Kafka calls the dynamic update mode:\n"
        "by a file and a restart only (read-only), while the broker runs (per-broker), or for all of them at once too (cluster-wide). A\n"
        "listener's own (`listener.name.NAME.…`) are taken without effect. Other names are refused, in a file and at run time."
    )
    yield ""
    yield "| Setting | Type | Default | Changed | What it is, and what differs from Kafka's |"
    yield "|---|---|---|---|---|"
    for key in keys:
        yield f"| `{key.name}` | {_type(key)} | {_default(key)} | {key.scope.value} | {_words(key)} |"


def _topics() -> Iterable[str]:
    yield "## Settings of topics"
    yield ""
    yield "All of Apache Kafka 3.9's, with its defaults; each can be changed while brokers run. What a topic has not is its brokers'."
    yield ""
    yield "| Setting | Type | Default | Brokers' setting | What it is |"
    yield "|---|---|---|---|---|"
    for key in sorted(TOPIC_KEYS.values(), key=lambda key: key.name):
        above = ", ".join(f"`{name}`" for name in key.synonyms) or "none"
        yield f"| `{key.name}` | {_type(key)} | {_default(key)} | {above} | {_cell(key.doc)} |"


def _type(key: Key) -> str:
    return (key.shown_as or key.type).name.lower()


def _default(key: Key) -> str:
    text = None if key.sensitive else key.show(key.default)
    return "none" if text is None else "empty" if text == "" else f"`{_cell(text)}`"


def _words(key: Key) -> str:
    if key.name in IDLE_KEYS:
        internal = "; Kafka's own, which it does not describe" if key.name in HIDDEN else ""
        only = only_value(key.name)
        refused = "" if only is None else f"; only {f'`{only}`' if only else 'an empty one'} is taken"
        return _cell(f"No effect: {why_without_effect(key.name)}{refused}{internal}.")
    differs = OWN if key.name.startswith("highwater.") else OF_BROKERS.get(key.name)
    return _cell(key.doc + (f" *Differs:* {differs}." if differs else ""))


def health_page(present: str) -> str:
    kept = present.partition(MARK)[0].rstrip()
    return "\n".join([kept, "", MARK, "", *_rules(), ""])


def _rules() -> Iterable[str]:
    yield "## The rules"
    yield ""
    yield "| Rule | By name | What it finds | At worst |"
    yield "|---|---|---|---|"
    for rule in RULES:
        yield f"| {rule.number} {rule.title} | `{rule.identity}` | {_cell(rule.looks_at)} | {rule.worst} |"


def protocol_page() -> str:
    return "\n".join([*_protocol(), ""])


def _protocol() -> Iterable[str]:
    rows = {row.key: row for row in full_registry().advertised()}
    yield "# The protocol"
    yield ""
    yield MARK
    yield ""
    yield (
        "Every key that an Apache Kafka 3.9.2 broker in ZooKeeper mode advertises in ApiVersions, with the versions that it serves and\n"
        "those that Highwater serves. Keys that it does not advertise (KRaft's, telemetry, share groups, DescribeTopicPartitions) end the\n"
        "connection in both."
    )
    yield ""
    yield "Of all keys:"
    yield ""
    yield from (f"- {sentence}" for sentence in OF_ALL_KEYS)
    yield ""
    yield "| Key | Name | Here | Kafka 3.9.2 | What differs, and why |"
    yield "|---|---|---|---|---|"
    for key in sorted(OF_ZOOKEEPER_BROKERS | set(rows)):
        known = ApiKey(key)
        here = f"{rows[key].min_version}–{rows[key].max_version}" if key in rows else "none"
        there = f"0–{MAX_VERSION_3_9[known]}" if key in OF_ZOOKEEPER_BROKERS else "none"
        told = [*BY_KEY.get(known, ()), *((f"Not served: {NOT_SERVED[known]}.",) if key not in rows else ())]
        yield f"| {int(key)} | {_name(known)} | {here} | {there} | {_cell(' '.join(told)) or 'nothing'} |"
    yield ""
    yield f"Keys from {VENDOR_KEY_MIN} on are Highwater's own: its state feed and looks at logs; they are not advertised."


def _name(key: ApiKey) -> str:
    return "".join(part.capitalize() for part in key.name.split("_"))


def metrics_page() -> str:
    return "\n".join([*_metrics(), ""])


def _metrics() -> Iterable[str]:
    yield "# All metrics"
    yield ""
    yield MARK
    yield ""
    yield (
        "What brokers and the console export for Prometheus. What is unknown is left out. The dashboard and the alert rules in\n"
        "`docker/` ask for these names, and how Prometheus gets at them is told under\n"
        "[Day by day](tasks/daily.md#in-a-script-or-a-monitor). A histogram has rows `_bucket` (by `le`, the upper bound), `_sum` and\n"
        "`_count`. Some figures of a broker have one name with itself and with the console, where they have the label `cluster` too: in a\n"
        "query `job` says which is meant."
    )
    yield ""
    yield "## A broker"
    yield ""
    yield (
        "Each broker has its own page (`highwater.metrics.port`), with the label `broker`, its id. Those named after the controller are\n"
        "on the controller's page only; those of a disk only where it is known."
    )
    yield ""
    yield from _table(_of_brokers())
    for title, metrics in SECTIONS.items():
        yield ""
        yield f"## {title}"
        yield ""
        yield from _table(metrics)


def _table(metrics: Iterable[Metric]) -> Iterable[str]:
    yield "| Metric | Type | Labels | Unit | What it means |"
    yield "|---|---|---|---|---|"
    for metric in metrics:
        labels = ", ".join(f"`{label}`" for label in metric.labels) or "none"
        yield f"| `{metric.name}` | {metric.kind} | {labels} | {unit_of(metric.name) or 'count'} | {_cell(metric.text)} |"


def _of_brokers() -> Iterator[Metric]:
    """Those of a page with a request on it, and the gauges that the server's modules name with a text."""
    metrics = BrokerMetrics(idle_percent=50.0)
    metrics.api("Fetch").latency.observe(1.0)
    metrics.api("Fetch").stages.observe(1.0, 1.0, 1.0, 1.0)
    metrics.old_requests.note(Sender("Fetch", 3, "unknown", "unknown", ""), "", 0)
    page = render(metrics, 1)
    for name, text, kind in re.findall(r"# HELP (\S+) (.+)\n# TYPE \1 (\w+)", page):
        row = re.search(rf"^{name}(?:_bucket)?\{{(.*)\}} ", page, re.MULTILINE)
        labels = [label for label in re.findall(r'(\w+)="', row[1] if row else "") if label != "le"]
        yield Metric(name, text, tuple(labels), kind)
    for path in OF_BROKERS_GAUGES:
        for name, text in _named(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
            yield Metric(full_name(name), text, ("broker",), "counter" if name.endswith("_total") else "gauge")


def _named(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """(name, sentence) of the tuples in which these two stand side by side, in the order of the source."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Tuple)]
    for node in sorted(found, key=lambda node: (node.lineno, node.col_offset)):
        texts = [each.value if isinstance(each, ast.Constant) else None for each in node.elts]
        for name, text in pairwise(texts):
            if isinstance(name, str) and isinstance(text, str) and re.fullmatch("[a-z_]+", name) and text.endswith("."):
                yield name, text


def _cell(text: str) -> str:
    """Within a table: no bar ends the cell, and a long value without blanks may be broken."""
    return text.replace("|", "\\|").replace("\n", " ")


def main(arguments: list[str]) -> int:
    pages = {
        SETTINGS: settings_page(SETTINGS.read_text(encoding="utf-8")),
        PROTOCOL: protocol_page(),
        METRICS: metrics_page(),
        HEALTH: health_page(HEALTH.read_text(encoding="utf-8")),
    }
    stale = [page for page, text in pages.items() if not page.exists() or page.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        for page in stale:
            print(f"{page.relative_to(ROOT)} is not as scripts/reference.py makes it", file=sys.stderr)  # noqa: T201
        return int(bool(stale))
    for page in stale:
        page.write_text(pages[page], encoding="utf-8")
        print(page.relative_to(ROOT))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
