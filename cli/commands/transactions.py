"""`highwater transactions`: list and describe, the producers of a partition, find those that hang, and end them."""

from __future__ import annotations

from typing import Any

from cli import figures as say
from cli import read
from cli.errors import Usage
from cli.shell import Shell, group, takes, verb
from cli.table import Column, plain, table, terminal_columns


def _s(value_ms: int | None) -> float | None:
    return None if value_ms is None else value_ms / 1000


def _held_by(place: dict[str, Any]) -> str:
    if place["error"]:
        return str(place["error"])
    if place["holds"] is None:
        return "not known"
    return "this one" if place["holds"] else "an earlier one" if place["held"] else ""


LIST = (
    Column("TRANSACTIONAL ID", lambda t: t["transactional_id"]),
    Column("STATE", lambda t: t["state"]),
    Column("AGE", lambda t: say.seconds(_s(t["age_ms"])), right=True),
    Column("TIME-OUT", lambda t: say.seconds(_s(t["timeout_ms"])), right=True),
    Column("PRODUCER", lambda t: str(t["producer_id"]), right=True),
    Column("EPOCH", lambda t: say.text(t["producer_epoch"]), right=True),
    Column("PARTITIONS", lambda t: say.number(t["partitions"]), right=True),
    Column("COORDINATOR", lambda t: str(t["coordinator"]), right=True),
    Column("NOTE", lambda t: t["note"]),
)
PLACES = (
    Column("TOPIC", lambda p: p["topic"]),
    Column("PARTITION", lambda p: str(p["partition"]), right=True),
    Column("BEGINS AT", lambda p: say.number(p["start_offset"]), right=True),
    Column("LAST STABLE", lambda p: say.number(p["last_stable_offset"]), right=True),
    Column("HIGH WATERMARK", lambda p: say.number(p["high_watermark"]), right=True),
    Column("HELD", lambda p: say.number(p["held"]), right=True),
    Column("BY", _held_by),
)
PRODUCERS = (
    Column("TOPIC", lambda p: p["topic"]),
    Column("PARTITION", lambda p: str(p["partition"]), right=True),
    Column("PRODUCER", lambda p: str(p["producer_id"]), right=True),
    Column("EPOCH", lambda p: str(p["producer_epoch"]), right=True),
    Column("COORDINATOR EPOCH", lambda p: say.text(p["coordinator_epoch"]), right=True),
    Column("LAST SEQUENCE", lambda p: say.text(p["last_sequence"]), right=True),
    Column("WROTE LAST (UTC)", lambda p: say.moment(p["last_at_ms"])),
    Column("BEGINS AT", lambda p: say.text(p["start_offset"]), right=True),
    Column("TRANSACTION", lambda p: p["transaction"].replace("_", " ")),
    Column("TRANSACTIONAL ID", lambda p: say.text(p["transactional_id"])),
)


def add(commands: Any) -> None:
    actions = group(commands, "transactions", "transactions, what they hold back, and those that hang")
    listing = verb(actions, "list", _list, "all transactional ids, those in progress first")
    listing.add_argument("--open", action="store_true", help="only those in progress")
    listing.add_argument("--state", default="", help="only those in this state, as Ongoing or CompleteCommit")
    listing.add_argument("--like", default="", help="only ids with this in them")
    listing.add_argument("--producer-id", type=int)
    listing.add_argument("--longer-than", type=float, metavar="SECONDS", help="only those that have lasted longer")
    listing.add_argument("--limit", type=int, help="at most so many (default: all)")
    describe = verb(actions, "describe", _describe, "a transaction, its partitions, and what readers wait for there")
    describe.add_argument("id", help="the transactional id")
    producers = verb(actions, "producers", _producers, "the producers that a partition's leader remembers")
    hanging = verb(actions, "find-hanging", _hanging, "transactions that no coordinator has and nothing will end")
    takes(hanging, "topic", "--topic", default="", metavar="TOPIC[:PARTITION]")
    hanging.add_argument("--broker", type=int, help="all that this broker leads")
    hanging.add_argument(
        "--max-transaction-timeout", type=float, metavar="MINUTES", help="default: the brokers' transaction.max.timeout.ms"
    )
    abort = verb(actions, "abort", _abort, "end a hanging transaction in one partition by an abort marker", changes=True)
    for parser in (producers, abort):
        takes(parser, "topic", "place", metavar="TOPIC:PARTITION")
    abort.add_argument("--start-offset", type=int, required=True, help="where it begins, as `producers` and `find-hanging` tell")
    end = verb(actions, "terminate", _terminate, "abort what is in progress and fence its producer", changes=True)
    end.add_argument("id", help="the transactional id")


def _list(shell: Shell) -> None:
    o = shell.options
    if o.open and o.state:
        raise Usage("--open is a state: give it or --state.")
    rows, said = shell.rest.items(
        shell.at("transactions"),
        o.limit,
        q=o.like,
        state="open" if o.open else o.state,
        producer_id=o.producer_id,
        longer_ms=None if o.longer_than is None else round(o.longer_than * 1000),
    )
    shell.show_rows(rows, LIST, "None.")
    for words in [said["sentence"]] * bool(said["unseen"]) + said["notes"]:
        shell.say(words)


def _describe(shell: Shell) -> None:
    found = shell.rest.get(shell.at("transactions", shell.options.id))
    shell.show(found, lambda: _described(found))


def _described(one: dict[str, Any]) -> str:
    lines = [table(LIST, [one], terminal_columns()), "", plain(one["sentence"])]
    if one["places"]:
        lines += ["", table(PLACES, one["places"], terminal_columns())]
        lines += [f"{one['partitions'] - len(one['places'])} more are not shown."] * (one["partitions"] > len(one["places"]))
    return "\n".join(lines)


def _place(text: str) -> tuple[str, int]:
    topic, numbers = read.partitions(text)
    if numbers is None or len(numbers) != 1:
        raise Usage(f"{text!r}: name one partition, as orders:3.")
    return topic, numbers[0]


def _producers(shell: Shell) -> None:
    topic, number = _place(shell.options.place)
    found = shell.rest.get(shell.at("topics", topic, "partitions", number, "producers"))
    shell.show(found, lambda: f"{plain(found['sentence'])}\n\n{_rows(found['producers'], found['total'])}")


def _rows(rows: list[dict[str, Any]], total: int) -> str:
    if not rows:
        return "No idempotent or transactional producer has written there."
    return table(PRODUCERS, rows, terminal_columns()) + (f"\n{total - len(rows)} more are not shown." if total > len(rows) else "")


def _hanging(shell: Shell) -> None:
    o = shell.options
    topic, numbers = read.partitions(o.topic)
    if numbers is not None and len(numbers) != 1:
        raise Usage(f"{o.topic!r}: name a topic, or one partition of it as orders:3.")
    if not topic and o.broker is None:
        raise Usage("Name a topic by --topic, or a broker by --broker: a whole cluster is not searched at once.")
    minutes = o.max_transaction_timeout
    found = shell.rest.get(
        shell.at("hanging-transactions"),
        topic=topic,
        partition=None if numbers is None else numbers[0],
        broker=o.broker,
        max_timeout_ms=None if minutes is None else round(minutes * 60_000),
    )
    shell.show(
        found,
        lambda: "\n\n".join(
            [*([table(PRODUCERS, found["items"], terminal_columns())] if found["items"] else []), plain(found["sentence"])]
        ),
    )


def _abort(shell: Shell) -> None:
    o = shell.options
    topic, number = _place(o.place)
    path, body = shell.at("topics", topic, "partitions", number, "abort-transaction"), {"start_offset": o.start_offset}
    plan = shell.rest.change("POST", path, {**body, "dry_run": True})
    said = " ".join([plan["sentence"], *plan["risks"]])
    if o.dry_run:
        shell.show(plan, plain(said))
        return
    shell.confirm(f"{topic}-{number}", said)
    done = shell.rest.change("POST", path, {**body, "confirm": True})
    shell.show(done, plain(done["sentence"]))


def _terminate(shell: Shell) -> None:
    o = shell.options
    path = shell.at("transactions", o.id, "termination")
    plan = shell.rest.change("POST", path, {"dry_run": True})
    said = " ".join([plan["sentence"], *plan["risks"]])
    if o.dry_run:
        shell.show(plan, plain(said))
        return
    shell.confirm(o.id, said)
    done = shell.rest.change("POST", path, {"confirm": True})
    shell.show(done, plain(done["sentence"]))
