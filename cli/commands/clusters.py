"""`highwater clusters`: list, describe."""

from __future__ import annotations

from typing import Any

from cli import figures as say
from cli.commands.brokers import FIELDS
from cli.shell import Shell, group, verb
from cli.table import Column, plain, table, terminal_columns

LIST = (
    Column("CLUSTER", lambda c: c["id"]),
    Column("NAME", lambda c: c["name"]),
    Column("BROKERS", lambda c: f"{say.number(c['brokers_online'])}/{say.number(c['brokers_total'])}", right=True),
    Column("TOPICS", lambda c: say.number(c["topics"]), right=True),
    Column("GROUPS", lambda c: say.number(c["groups"]), right=True),
    Column("BOOTSTRAP", lambda c: c["bootstrap_servers"]),
)


def add(commands: Any) -> None:
    actions = group(commands, "clusters", "the clusters that the console knows")
    verb(actions, "list", _list, "all clusters")
    verb(actions, "describe", _describe, "what is known of --cluster")


def _list(shell: Shell) -> None:
    rows, _ = shell.rest.items("/clusters")
    shell.show_rows(rows, LIST, "No clusters.")


def _describe(shell: Shell) -> None:
    found = shell.rest.get(shell.at())
    rows = [(name, value) for name, value in found.items() if not isinstance(value, dict | list)]
    verdict = plain(found["verdict"]["text"]) if found["verdict"] else "Nothing is known of it yet."
    shell.show(found, lambda: f"{verdict}\n\n{table(FIELDS, rows, terminal_columns())}")
    shell.warn_stale(found["as_of"])
