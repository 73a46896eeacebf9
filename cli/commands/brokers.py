"""`highwater brokers`: list, describe, what-if (`highwater broker` starts and stops those of this machine)."""

from __future__ import annotations

from typing import Any

from cli import figures as say
from cli.errors import Usage
from cli.shell import Shell, group, verb
from cli.table import Column, plain, table, terminal_columns

LIST = (
    Column("BROKER", lambda b: str(b["broker_id"]), right=True),
    Column("STATE", lambda b: say.text(b["state"])),
    Column("ADDRESS", lambda b: say.text(b["host"] and f"{b['host']}:{b['port']}")),
    Column("LEADERS", lambda b: say.number(b["leaders"]), right=True),
    Column("REPLICAS", lambda b: say.number(b["replicas"]), right=True),
    Column("IN", lambda b: say.rate(b["bytes_in_per_s"], "B"), right=True),
    Column("OUT", lambda b: say.rate(b["bytes_out_per_s"], "B"), right=True),
)


def add(commands: Any) -> None:
    actions = group(commands, "brokers", "the cluster's brokers")
    verb(actions, "list", _list, "all brokers")
    verb(actions, "describe", _describe, "all that is known of one").add_argument("id", type=int)
    what_if = verb(actions, "what-if", _what_if, "what its death or stop would do to its partitions, and to the other brokers")
    what_if.add_argument("id", type=int)
    what_if.add_argument("--how", choices=("death", "shutdown"), default="death", help="it ends at once, or hands over first (death)")
    what_if.add_argument("--partitions", type=int, default=20, metavar="N", help="so many of those that change, the worst first (20)")


def _list(shell: Shell) -> None:
    rows, said = shell.rest.items(shell.at("brokers"))
    shell.show_rows(rows, LIST, "No brokers.", said)


def _describe(shell: Shell) -> None:
    found = shell.rest.get(shell.at("brokers", shell.options.id))
    shell.show(found, lambda: table(FIELDS, [(k, v) for k, v in found.items() if not isinstance(v, dict | list)], terminal_columns()))
    shell.warn_stale(found["as_of"])


def _what_if(shell: Shell) -> None:
    o = shell.options
    if not 0 <= o.partitions <= MOST:
        raise Usage(f"--partitions takes a number from 0 to {MOST}.")
    path = shell.at("brokers", o.id, "if-it-stops")
    found = shell.rest.get(path, how=o.how)
    rows = shell.rest.get(f"{path}/partitions", how=o.how, limit=o.partitions)["items"] if o.partitions else []
    changed = [row for row in rows if row["becomes"] != "unchanged"]
    shell.show({**found, "partitions": rows}, lambda: _said(found, changed))
    shell.warn_stale(found["as_of"])


def _said(found: dict[str, Any], rows: list[Any]) -> str:
    parts = [plain(found["sentence"]), plain(found["traffic"])]
    parts += [table(SHARES, found["brokers"], terminal_columns())] if found["brokers"] else []
    parts += [table(FATES, rows, terminal_columns())] if rows else []
    return "\n\n".join(part for part in parts if part)


MOST = 500
SHARES = (
    Column("BROKER", lambda b: str(b["broker_id"]), right=True),
    Column("LEADS", lambda b: say.number(b["leaders"]), right=True),
    Column("THEN", lambda b: say.number(b["leaders_then"]), right=True),
    Column("IN", lambda b: say.rate(b["in_per_s"], "B"), right=True),
    Column("IN IF EVEN", lambda b: say.rate(b["in_if_even"], "B"), right=True),
    Column("IN AT MOST", lambda b: say.rate(b["in_at_most"], "B"), right=True),
    Column("OUT", lambda b: say.rate(b["out_per_s"], "B"), right=True),
    Column("OUT AT MOST", lambda b: say.rate(b["out_at_most"], "B"), right=True),
)
FATES = (
    Column("PARTITION", lambda row: f"{row['topic']}-{row['partition']}"),
    Column("BECOMES", lambda row: say.text(row["becomes"])),
    Column("LEADER", lambda row: say.text(row["leader"]), right=True),
    Column("THEN", lambda row: say.text(row["leader_then"]), right=True),
    Column("ISR THEN", lambda row: ",".join(map(str, row["isr_then"]))),
    Column("WHY", lambda row: say.text(row["why"])),
)
FIELDS = (Column("WHAT", lambda row: row[0]), Column("NOW", lambda row: say.text(row[1])))
