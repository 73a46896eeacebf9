"""`highwater records write` puts records into a topic, `records delete` takes the oldest away."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any, TextIO

from cli import figures as say
from cli import read
from cli.errors import Problem, Stopped, Usage
from cli.shell import Shell, takes, verb
from cli.table import Column, plain, table, terminal_columns

AT_ONCE = 500
"""Of a change: so many records, or fewer of so many characters together."""
AT_ONCE_CHARS = 150_000
GOING = (
    Column("TOPIC", lambda p: p["topic"]),
    Column("PARTITION", lambda p: str(p["partition"]), right=True),
    Column("BEGINS", lambda p: say.number(p["first"]), right=True),
    Column("THEN", lambda p: say.number(p["then"]), right=True),
    Column("NOTE", lambda p: p["error"] or ""),
)


def add_to(actions: Any) -> None:
    write = verb(actions, "write", _write, "write records: a value, or each line of the standard input")
    takes(write, "topic", "topic")
    write.add_argument("--value", help="default: each line of the standard input is one")
    write.add_argument("--key", help="of all")
    write.add_argument("--separator", help="a line is key, this, value")
    write.add_argument("--null", help="a key or value that is this is none (a tombstone)")
    write.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help="of all; may be given again")
    write.add_argument("--partition", type=int, help="default: by the key")
    write.add_argument("--yes", action="store_true", help="into an internal topic, too")
    delete = verb(actions, "delete", _delete, "delete records from the beginning of partitions on, for good", changes=True)
    takes(delete, "topic", "topics", nargs="*", metavar="TOPIC[:0,2-4]", help="or a file")
    where = delete.add_mutually_exclusive_group(required=True)
    where.add_argument("--before-offset", type=int, metavar="N", help="what lies below it")
    where.add_argument("--before-time", type=read.moment, metavar="ISO", help="what is older, as 2026-01-31T09:00")
    where.add_argument("--all", action="store_true", help="all that there is")
    where.add_argument("--file", metavar="JSON", help="as kafka-delete-records takes it; -: the standard input")


# --- writing


def _write(shell: Shell) -> None:
    o = shell.options
    if o.value is not None and o.separator is not None:
        raise Usage("--separator is for lines of the standard input: leave out --value.")
    values = iter([_record(o, o.key, o.value)]) if o.value is not None else _lines(o, sys.stdin)
    written, places = 0, []
    while batch := list(_at_once(values)):
        body = {"records": batch, "confirm": o.yes}
        try:
            done = shell.rest.change("POST", shell.at("topics", o.topic, "records"), body)
        except (Problem, Stopped):
            if written:
                shell.say(f"{written} records are written; the others are not.")
            raise
        written += done["written"]
        places += done["records"]
        if done["written"] < len(batch):
            first = next(one["error"] for one in done["records"] if one["error"])
            raise Stopped(f"{written} records are written. One was not: {first}")
    shell.show({"written": written, "records": places}, lambda: _where(o.topic, places))


def _where(topic: str, places: list[dict[str, Any]]) -> str:
    if len(places) == 1:
        return f"Written to {plain(topic)}-{places[0]['partition']} at {say.number(places[0]['offset'])}."
    return f"{say.number(len(places))} records are written to {plain(topic)}."


def _lines(options: Any, lines: TextIO) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, 1):
        text = line.removesuffix("\n").removesuffix("\r")
        key, value = options.key, text
        if options.separator is not None:
            key, found, value = text.partition(options.separator)
            if not found:
                raise Usage(f"Line {number} has no {options.separator!r}: nothing of it or after it is written.")
        yield _record(options, key, value)


def _record(options: Any, key: str | None, value: str) -> dict[str, Any]:
    texts = {name: None if text == options.null else text for name, text in (("key", key), ("value", value))}
    more = {"headers": read.settings(options.header)} if options.header else {}
    return {**texts, **more} | ({} if options.partition is None else {"partition": options.partition})


def _at_once(records: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    chars = 0
    for record in islice(records, AT_ONCE):
        yield record
        chars += len(record["key"] or "") + len(record["value"] or "")
        if chars >= AT_ONCE_CHARS:
            return


# --- deleting


def _delete(shell: Shell) -> None:
    o = shell.options
    if bool(o.topics) == bool(o.file):
        raise Usage("Name topics, or give a file that does.")
    asked = _of_file(o.file) if o.file else [_asked(o, *read.partitions(text)) for text in o.topics]
    plans = [(topic, body, _send(shell, topic, {**body, "dry_run": True})) for topic, body in asked]
    rows = [{"topic": topic, **one} for topic, _, plan in plans for one in plan["partitions"]]
    said = "\n".join([table(GOING, rows, terminal_columns()), *(plain(plan["sentence"]) for *_, plan in plans)])
    if o.dry_run:
        shell.show([{"topic": topic, **plan} for topic, _, plan in plans], f"{said}\nNothing was done: this is a dry run.")
        return
    if not o.json:
        print(said, flush=True)
    names = ", ".join(dict.fromkeys(topic for topic, _ in asked))
    shell.confirm(names, f"These records of {names} would be deleted for good.")
    done = [{"topic": topic, **_send(shell, topic, {**body, "confirm": True})} for topic, body, _ in plans]
    shell.show(done, lambda: "\n".join(plain(one["sentence"]) for one in done))
    if refused := [f"{one['topic']}-{row['partition']}: {row['error']}" for one in done for row in one["partitions"] if row["error"]]:
        raise Stopped(f"{len(refused)} partitions refused, the first: {refused[0]}")


def _send(shell: Shell, topic: str, body: dict[str, Any]) -> dict[str, Any]:
    return dict(shell.rest.change("POST", shell.at("topics", topic, "delete-records"), body))


def _asked(options: Any, topic: str, numbers: list[int] | None) -> tuple[str, dict[str, Any]]:
    where = {"before": options.before_offset, "time": options.before_time, "partitions": numbers}
    return topic, {name: value for name, value in where.items() if value is not None}


def _of_file(name: str) -> list[tuple[str, dict[str, Any]]]:
    """A change for each partition: each has an offset of its own. -1 is the end."""
    try:
        rows = json.loads(read.file_text(name))["partitions"]
        found = [(str(row["topic"]), int(row["partition"]), int(row["offset"])) for row in rows]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise Usage(f'{name}: give {{"partitions": [{{"topic": "orders", "partition": 0, "offset": 12}}]}}.') from None
    if len({(topic, number) for topic, number, _ in found}) != len(found):
        raise Usage(f"{name}: a partition is named twice.")
    return [(topic, {"partitions": [number]} | ({} if offset == -1 else {"before": offset})) for topic, number, offset in found]
