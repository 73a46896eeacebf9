"""`highwater settings`: which console is asked, with which token, and what that may."""

from __future__ import annotations

from typing import Any

from cli.access import find
from cli.commands.brokers import FIELDS
from cli.shell import Shell, verb
from cli.table import table, terminal_columns


def add(commands: Any) -> None:
    verb(commands, "settings", _settings, "which console the commands ask, and as whom")


def _settings(shell: Shell) -> None:
    access = find(shell.options.data, shell.options.url)
    who = access.rest().get("/whoami")
    found = {"url": access.url, "cluster": shell.options.cluster, "token_from": access.source, "name": who["name"], "role": who["role"]}
    shell.show(found, lambda: table(FIELDS, list(found.items()), terminal_columns()))
