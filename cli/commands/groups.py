"""`highwater groups`: list, describe, reset, delete."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cli import figures as say
from cli import read
from cli.errors import Usage
from cli.shell import Shell, group, takes, verb
from cli.table import Column, plain, table, terminal_columns

LIST = (
    Column("GROUP", lambda g: g["group"]),
    Column("STATE", lambda g: say.text(g["state"])),
    Column("MEMBERS", lambda g: str(len(g["members"])), right=True),
    Column("TOPICS", lambda g: str(len(g["topics"])), right=True),
    Column("LAG", lambda g: say.number(g["lag"]), right=True),
    Column("BEHIND", lambda g: say.seconds(g["lag_s"]), right=True),
    Column("TREND", lambda g: g["trend"]),
)
OFFSETS = (
    Column("TOPIC", lambda r: r["topic"]),
    Column("PARTITION", lambda r: str(r["partition"]), right=True),
    Column("COMMITTED", lambda r: say.number(r["committed"]), right=True),
    Column("LOG END", lambda r: say.number(r["log_end_offset"]), right=True),
    Column("LAG", lambda r: say.number(r["lag"]), right=True),
    Column("BEHIND", lambda r: say.seconds(r["lag_s"]), right=True),
    Column("CLIENT", lambda r: say.text(r["client_id"])),
    Column("HOST", lambda r: say.text(r["host"])),
)
MOVES = (
    Column("TOPIC", lambda r: r["topic"]),
    Column("PARTITION", lambda r: str(r["partition"]), right=True),
    Column("NOW", lambda r: say.number(r["before"]), right=True),
    Column("THEN", lambda r: say.number(r["after"]), right=True),
    Column("LAG THEN", lambda r: say.number(r["lag_after"]), right=True),
    Column("NOTE", lambda r: r["note"] or ""),
)


def add(commands: Any) -> None:
    actions = group(commands, "groups", "consumer groups, their lag and offsets")
    listing = verb(actions, "list", _list, "all groups, by name")
    listing.add_argument("--like", default="", help="only names with this in them")
    listing.add_argument("--lagging", action="store_true", help="only those with lag")
    describe = verb(actions, "describe", _describe, "a group's offsets and lag")
    reset = verb(actions, "reset", _reset, "move the committed offsets of a group without members", changes=True)
    which = reset.add_mutually_exclusive_group(required=True)
    takes(which, "topic", "--topic", action="append", metavar="TOPIC[:0,2-4]", help="may be given again")
    which.add_argument("--all-topics", action="store_true", help="all that it has committed")
    where = reset.add_mutually_exclusive_group(required=True)
    where.add_argument("--to-earliest", action="store_const", dest="where", const={"to": "earliest"})
    where.add_argument("--to-latest", action="store_const", dest="where", const={"to": "latest"})
    where.add_argument("--to-offset", type=lambda text: {"to": int(text)}, dest="where", metavar="N")
    where.add_argument("--to-time", type=_time, dest="where", metavar="ISO", help="the first record not older, as 2026-01-31T09:00+01:00")
    where.add_argument("--shift-by", type=lambda text: {"shift": int(text)}, dest="where", metavar="±N")
    delete = verb(actions, "delete", _delete, "delete a group with its offsets", changes=True)
    for parser in (describe, reset, delete):
        takes(parser, "group", "name")


def _time(text: str) -> dict[str, str]:
    """A time without a zone is of this machine's."""
    return {"time": datetime.fromisoformat(text).astimezone().isoformat()}


def _list(shell: Shell) -> None:
    rows, said = shell.rest.items(shell.at("groups"), q=shell.options.like, lag="1" if shell.options.lagging else "")
    shell.show_rows(rows, LIST, "No groups.", said)


def _describe(shell: Shell) -> None:
    name = shell.options.name
    found = shell.rest.get(shell.at("groups", name))
    rows, _ = shell.rest.items(shell.at("groups", name, "offsets"))
    shell.show({**found, "offsets": rows}, lambda: f"{plain(found['sentence'])}\n\n{table(OFFSETS, rows, terminal_columns())}")
    shell.warn_stale(found["as_of"])


def _reset(shell: Shell) -> None:
    o = shell.options
    path = shell.at("groups", o.name, "offsets")
    bodies = [{"topic": topic, "partitions": some, **o.where} for topic, some in _chosen(shell, path)]
    plan = [row for body in bodies for row in shell.rest.change("POST", path, {**body, "dry_run": True})["items"]]
    if o.dry_run:
        shell.show(plan, lambda: f"{table(MOVES, plan, terminal_columns())}\nNothing was done: this is a dry run.")
        return
    if not o.json:
        print(table(MOVES, plan, terminal_columns()), flush=True)
    shell.confirm(o.name, f"Group {o.name} would read on from there: records are read again, or never.")
    done = [row for body in bodies for row in shell.rest.change("POST", path, {**body, "confirm": True})["items"]]
    shell.show(done, f"{len(done)} offsets of {plain(o.name)} are moved.")


def _chosen(shell: Shell, path: str) -> list[tuple[str, list[int] | None]]:
    if not shell.options.all_topics:
        return [read.partitions(text) for text in shell.options.topic]
    found: dict[str, list[int]] = {}
    for row in shell.rest.items(path)[0]:
        if row["committed"] is not None:
            found.setdefault(row["topic"], []).append(row["partition"])
    if not found:
        raise Usage(f"{shell.options.name} has committed nothing: name the topics by --topic.")
    size = read.PARTITIONS_MAX
    return [(topic, numbers[n : n + size]) for topic, numbers in found.items() for n in range(0, len(numbers), size)]


def _delete(shell: Shell) -> None:
    name = shell.options.name
    found = shell.rest.get(shell.at("groups", name))
    where = f"on {len(found['topics'])} topics, lag {say.number(found['lag'])}"
    risk = f"Group {name} ({say.text(found['state'])}) would go with its offsets {where}."
    if shell.options.dry_run:
        shell.show({"dry_run": True, "group": found}, risk)
        return
    shell.confirm(name, risk)
    shell.rest.change("DELETE", shell.at("groups", name))
    shell.show({"group": name, "deleted": True}, f"Group {plain(name)} is deleted.")
