"""`highwater brokers`: list, describe (`highwater broker` starts and stops those of this machine)."""

from __future__ import annotations

from typing import Any

from cli import figures as say
from cli.shell import Shell, group, verb
from cli.table import Column, table, terminal_columns

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


def _list(shell: Shell) -> None:
    rows, said = shell.rest.items(shell.at("brokers"))
    shell.show_rows(rows, LIST, "No brokers.", said)


def _describe(shell: Shell) -> None:
    found = shell.rest.get(shell.at("brokers", shell.options.id))
    shell.show(found, lambda: table(FIELDS, [(k, v) for k, v in found.items() if not isinstance(v, dict | list)], terminal_columns()))
    shell.warn_stale(found["as_of"])


FIELDS = (Column("WHAT", lambda row: row[0]), Column("NOW", lambda row: say.text(row[1])))
