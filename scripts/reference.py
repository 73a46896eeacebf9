"""Makes the tables of docs/settings.md (settings of brokers and topics) and docs/protocol.md from the code: `python scripts/reference.py`.

`--check` only says, by its status, whether the pages are as they would be made. What stands in docs/settings.md above the mark is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from broker_core.config import BROKER_KEYS, HIDDEN, IDLE_KEYS, TOPIC_KEYS, Key  # noqa: E402
from broker_core.config.departures import OF_BROKERS, OWN  # noqa: E402
from broker_core.config.idle import only_value, why_without_effect  # noqa: E402
from broker_core.handlers.registry import full_registry  # noqa: E402
from broker_core.protocol.api import MAX_VERSION_3_9, OF_ZOOKEEPER_BROKERS, VENDOR_KEY_MIN, ApiKey  # noqa: E402
from broker_core.protocol.departures import BY_KEY, NOT_SERVED, OF_ALL_KEYS  # noqa: E402

SETTINGS, PROTOCOL = ROOT / "docs" / "settings.md", ROOT / "docs" / "protocol.md"
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


def _cell(text: str) -> str:
    """Within a table: no bar ends the cell, and a long value without blanks may be broken."""
    return text.replace("|", "\\|").replace("\n", " ")


def main(arguments: list[str]) -> int:
    pages = {SETTINGS: settings_page(SETTINGS.read_text(encoding="utf-8")), PROTOCOL: protocol_page()}
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
