"""`highwater configs`: settings of a topic, of a broker, of all brokers, and a broker's log levels: describe, alter."""

from __future__ import annotations

from typing import Any

from cli import figures as say
from cli import read
from cli.errors import Usage
from cli.shell import Shell, group, verb
from cli.table import Column, plain, table, terminal_columns

WHERE = "topic/NAME, broker/ID, brokers (the defaults of all), or loggers/ID (a broker's log levels)"
LOGGERS = (Column("LOGGER", lambda one: one["name"]), Column("LEVEL", lambda one: one["level"]))
LEVELS = (
    Column("LOGGER", lambda c: c["name"]),
    Column("NOW", lambda c: c["before"]),
    Column("THEN", lambda c: c["after"] or "as the one above"),
)
SETTINGS = (
    Column("SETTING", lambda c: c["name"]),
    Column("VALUE", lambda c: "hidden" if c["sensitive"] else plain(c["told"])),
    Column("SET FOR", lambda c: c["set_for"] or "default"),
    Column("OTHERWISE", lambda c: say.text(c["otherwise"]) if c["own"] is not None else ""),
)
CHANGES = (
    Column("SETTING", lambda c: c["label"]),
    Column("NOW", lambda c: plain(c["told_before"])),
    Column("THEN", lambda c: plain(c["told_after"])),
    Column("MEANS", lambda c: c["note"]),
)


def add(commands: Any) -> None:
    actions = group(commands, "configs", "settings of topics and brokers")
    describe = verb(actions, "describe", _describe, "what is set, where, and what would be in force otherwise")
    describe.add_argument("--all", action="store_true", help="what is set elsewhere and the defaults, too")
    describe.add_argument("--like", default="", help="only names with this in them; of all")
    alter = verb(actions, "alter", _alter, "change settings", changes=True)
    alter.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    alter.add_argument("--unset", action="append", default=[], metavar="KEY", help="back to what is in force otherwise")
    for parser in (describe, alter):
        parser.add_argument("where", help=WHERE)


def _loggers(shell: Shell) -> str | None:
    """Their path, where they are meant."""
    kind, _, name = shell.options.where.partition("/")
    return shell.at("brokers", name, "loggers") if kind == "loggers" and name.isascii() and name.isdigit() else None


def _path(shell: Shell) -> str:
    kind, _, name = shell.options.where.partition("/")
    if kind == "topic" and name:
        return shell.at("topics", name, "settings")
    if kind == "broker" and name.isascii() and name.isdigit():
        return shell.at("brokers", name, "settings")
    if shell.options.where == "brokers":
        return shell.at("broker-defaults")
    raise Usage(f"{shell.options.where!r} has no settings: give {WHERE}.")


def _describe(shell: Shell) -> None:
    like, path = shell.options.like, _loggers(shell)
    if path is not None:
        levels = [one for one in shell.rest.get(path)["items"] if like in one["name"]]
        shell.show_rows(levels, LOGGERS, "It tells of no loggers.")
        return
    found = shell.rest.get(_path(shell))
    is_all = shell.options.all or like
    rows = [row for row in found["items"] if like in row["name"] and (is_all or row["own"] is not None)]
    shell.show({"items": rows}, lambda: table(SETTINGS, rows, terminal_columns()) if rows else "Nothing is set here: --all has the rest.")


def _alter(shell: Shell) -> None:
    o = shell.options
    changes = read.changes(o.set, o.unset)
    if (loggers := _loggers(shell)) is not None:
        _set_levels(shell, loggers, changes)
        return
    path, body = _path(shell), {"configs": changes, "dry_run": o.dry_run}
    answer = shell.confirmed(lambda confirm: shell.rest.change("PATCH", path, {**body, "confirm": confirm}))
    shell.show(answer, lambda: _tried(answer) if o.dry_run else f"{len(changes)} of the settings of {o.where} changed.")


def _set_levels(shell: Shell, path: str, levels: dict[str, str | None]) -> None:
    o = shell.options
    done = shell.rest.change("PATCH", path, {"levels": levels, "dry_run": o.dry_run})
    end = "Nothing was done: this is a dry run." if o.dry_run else f"So it is until broker {o.where.partition('/')[2]} ends."
    shell.show(done, lambda: f"{table(LEVELS, done['changes'], terminal_columns())}\n{end}")


def _tried(answer: dict[str, Any]) -> str:
    told = [*(f"Wants --yes: {plain(risk)}" for risk in answer["risks"]), *map(plain, answer["effects"])]
    return "\n".join([table(CHANGES, answer["changes"], terminal_columns()), *told, "Nothing was done: this is a dry run."])
