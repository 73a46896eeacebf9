"""`highwater topics`: list, describe, create, alter, grow, delete (partitions, offsets: `places.py`)."""

from __future__ import annotations

from typing import Any

from cli import figures as say
from cli import read
from cli.commands import places
from cli.shell import Shell, group, takes, verb
from cli.table import Column, plain, table, terminal_columns

LIST = (
    Column("TOPIC", lambda t: t["topic"]),
    Column("STATE", lambda t: say.text(t["state"])),
    Column("PARTITIONS", lambda t: say.number(t["partitions"]), right=True),
    Column("COPIES", lambda t: say.number(t["replication_factor"]), right=True),
    Column("TROUBLED", lambda t: say.number(t["troubled"]), right=True),
    Column("SIZE", lambda t: say.size(t["size_bytes"]), right=True),
    Column("RECORDS", lambda t: say.number(t["messages"]), right=True),
    Column("RATE", lambda t: say.rate(t["messages_per_s"]), right=True),
    Column("GROUPS", lambda t: say.number(t["groups"]), right=True),
)
PARTITIONS = (
    Column("PARTITION", lambda p: str(p["partition"]), right=True),
    Column("STATE", lambda p: say.text(p["state"])),
    Column("LEADER", lambda p: say.number(p["leader"]), right=True),
    Column("EPOCH", lambda p: say.number(p["leader_epoch"]), right=True),
    Column("REPLICAS", lambda p: say.ids(p["assignment"])),
    Column("ISR", lambda p: say.ids(p["isr"])),
    Column("HIGH WATERMARK", lambda p: say.number(p["high_watermark"]), right=True),
    Column("LOG END", lambda p: say.number(p["log_end_offset"]), right=True),
    Column("SIZE", lambda p: say.size(p["size_bytes"]), right=True),
)
CONFIGS = (
    Column("SETTING", lambda c: c["name"]),
    Column("VALUE", lambda c: say.text(c["value"])),
    Column("FROM", lambda c: c["source"]),
)
CHANGES = (
    Column("WHAT", lambda c: c["label"]),
    Column("NOW", lambda c: say.text(c["before"])),
    Column("THEN", lambda c: say.text(c["after"])),
)


def add(commands: Any) -> None:
    actions = group(commands, "topics", "topics and their settings")
    listing = verb(actions, "list", _list, "all topics, by name")
    listing.add_argument("--like", default="", help="only names with this in them")
    listing.add_argument("--troubled", action="store_true", help="only those with a partition that is not safe")
    describe = verb(actions, "describe", _describe, "a topic's partitions and own settings")
    describe.add_argument("--all-settings", action="store_true", help="the brokers' defaults too")
    create = verb(actions, "create", _create, "make a topic", changes=True)
    create.add_argument("name")
    create.add_argument("--partitions", type=int, help="default: the brokers'")
    create.add_argument("--replication-factor", type=int, help="copies of each partition (default: the brokers')")
    create.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    alter = verb(actions, "alter", _alter, "change settings", changes=True)
    alter.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    alter.add_argument("--unset", action="append", default=[], metavar="KEY", help="back to the default")
    grow = verb(actions, "grow", _grow, "add partitions", changes=True)
    delete = verb(actions, "delete", _delete, "delete a topic with all its records", changes=True)
    places.add_to(actions)
    for parser in (describe, alter, grow, delete):
        takes(parser, "topic", "name")
    grow.add_argument("count", type=int, help="how many there are to be")


def _list(shell: Shell) -> None:
    rows, said = shell.rest.items(shell.at("topics"), q=shell.options.like, troubled="1" if shell.options.troubled else "")
    shell.show_rows(rows, LIST, "No topics.", said)


def _describe(shell: Shell) -> None:
    name = shell.options.name
    topic = shell.rest.get(shell.at("topics", name))
    partitions, _ = shell.rest.items(shell.at("topics", name, "partitions"))
    shell.show({**topic, "partition_list": partitions}, lambda: _described(shell, topic, partitions))
    shell.warn_stale(topic["as_of"])


def _described(shell: Shell, topic: dict[str, Any], partitions: list[Any]) -> str:
    head = f"{topic['topic']}: {topic['state']}, {say.number(topic['partitions'])} partitions, {say.number(topic['messages'])} records"
    parts = [head, table(PARTITIONS, partitions, terminal_columns())]
    if topic["configs"] is None:
        return "\n\n".join([*parts, "Its settings are not known: no broker answers."])
    rows = [row for row in topic["configs"] if shell.options.all_settings or row["source"] == "topic"]
    return "\n\n".join([*parts, table(CONFIGS, rows, terminal_columns()) if rows else "No settings of its own."])


def _create(shell: Shell) -> None:
    o = shell.options
    body = {"name": o.name, "configs": read.settings(o.config), "validate_only": o.dry_run}
    body |= {key: value for key in ("partitions", "replication_factor") if (value := getattr(o, key)) is not None}
    answer = shell.confirmed(lambda confirm: shell.rest.change("POST", shell.at("topics"), {**body, "confirm": confirm}))
    shell.show(answer, lambda: _tried(answer) if o.dry_run else _going_on(answer, f"Topic {o.name} is made."))


def _alter(shell: Shell) -> None:
    o = shell.options
    body = {"configs": read.changes(o.set, o.unset), "dry_run": o.dry_run}
    answer = shell.confirmed(lambda confirm: shell.rest.change("PATCH", shell.at("topics", o.name), {**body, "confirm": confirm}))
    shell.show(answer, lambda: _tried(answer) if o.dry_run else f"The settings of {o.name} are changed.")


def _grow(shell: Shell) -> None:
    o = shell.options
    path, body = shell.at("topics", o.name, "partitions"), {"count": o.count, "dry_run": o.dry_run}
    answer = shell.confirmed(lambda confirm: shell.rest.change("POST", path, {**body, "confirm": confirm}))
    shell.show(answer, lambda: _tried(answer) if o.dry_run else _going_on(answer, f"{o.name} has {o.count} partitions."))


def _delete(shell: Shell) -> None:
    name = shell.options.name
    topic = shell.rest.get(shell.at("topics", name))
    risk = (
        f"{name} would go with all its records: {say.number(topic['messages'])} in {say.number(topic['partitions'])} partitions, "
        f"{say.size(topic['size_bytes'])} of each copy, read by {say.number(topic['groups'])} groups."
    )
    if shell.options.dry_run:
        shell.show({"dry_run": True, "topic": topic}, risk)
        return
    shell.confirm(name, risk)
    answer = shell.rest.change("DELETE", shell.at("topics", name))
    shell.show(answer or {"topic": name, "deleted": True}, lambda: _going_on(answer, f"Topic {name} is deleted."))


def _tried(answer: dict[str, Any]) -> str:
    risks = [f"Wants --yes: {plain(risk)}" for risk in answer.get("risks") or ()]
    return "\n".join([table(CHANGES, answer["changes"], terminal_columns()), *risks, "Nothing was done: this is a dry run."])


def _going_on(answer: Any, done: str) -> str:
    """202 answers the job that follows."""
    if isinstance(answer, dict) and "progress" in answer:
        return f"The cluster is at it: highwater jobs watch {answer['id']}"
    return done
