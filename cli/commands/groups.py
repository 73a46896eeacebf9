"""`highwater groups`: list, describe, reset and put back, export, and what is taken from a group."""

from __future__ import annotations

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
    Column("STATE", lambda r: r["status"]),
    Column("CLIENT", lambda r: say.text(r["client_id"])),
    Column("HOST", lambda r: say.text(r["host"])),
    Column("WHY", lambda r: say.text(r["reason"])),
)
MEMBERS = (
    Column("CLIENT", lambda m: say.text(m["client_id"])),
    Column("HOST", lambda m: say.text(m["host"])),
    Column("MEMBER", lambda m: m["member_id"]),
    Column("STATIC", lambda m: m["instance_id"] or ""),
    Column("READS", lambda m: ", ".join(f"{p['topic']}-{p['partition']}" for p in m["partitions"])),
)
MOVES = (
    Column("TOPIC", lambda r: r["topic"]),
    Column("PARTITION", lambda r: str(r["partition"]), right=True),
    Column("NOW", lambda r: say.number(r["before"]), right=True),
    Column("THEN", lambda r: say.number(r["after"]), right=True),
    Column("AGAIN", lambda r: say.number(r["again"]), right=True),
    Column("SKIPPED", lambda r: say.number(r["skipped"]), right=True),
    Column("LAG THEN", lambda r: say.number(r["lag_after"]), right=True),
    Column("NOTE", lambda r: r["note"] or ""),
)
CHANGES = (
    Column("CHANGE", lambda c: str(c["id"]), right=True),
    Column("AT", lambda c: say.text(c["at"])[:19].replace("T", " ")),
    Column("WHO", lambda c: c["actor"]),
    Column("WHAT", lambda c: ", ".join(word for word in (c["kind"], c["how"]) if word)),
    Column("PARTITIONS", lambda c: str(c["partitions"]), right=True),
    Column("OUTCOME", lambda c: f"put back by {c['undone_by']}" if c["undone_by"] else c["outcome"]),
)
LEAVING = (
    Column("CLIENT", lambda m: say.text(m["client_id"])),
    Column("HOST", lambda m: say.text(m["host"])),
    Column("MEMBER", lambda m: m["member_id"]),
    Column("STATIC", lambda m: m["instance_id"] or ""),
    Column("READS", lambda m: ",".join(m["partitions"])[:80]),
    Column("NOTE", lambda m: m["error"] or ""),
)


def add(commands: Any) -> None:
    actions = group(commands, "groups", "consumer groups, their lag and offsets")
    listing = verb(actions, "list", _list, "all groups, by name")
    listing.add_argument("--like", default="", help="only names with this in them")
    listing.add_argument("--lagging", action="store_true", help="only those with lag")
    listing.add_argument("--state", default="", help="only those in this state, as Stable or Empty")
    describe = verb(actions, "describe", _describe, "a group's offsets and lag")
    describe.add_argument("--members", action="store_true", help="who reads which partitions instead")
    reset = verb(actions, "reset", _reset, "move the committed offsets of a group without members", changes=True)
    which = reset.add_mutually_exclusive_group()
    takes(which, "topic", "--topic", action="append", metavar="TOPIC[:0,2-4]", help="may be given again")
    which.add_argument("--all-topics", action="store_true", help="all that it has committed")
    where = reset.add_mutually_exclusive_group(required=True)
    where.add_argument("--to-earliest", action="store_const", dest="where", const={"to": "earliest"})
    where.add_argument("--to-latest", action="store_const", dest="where", const={"to": "latest"})
    where.add_argument("--to-offset", type=lambda text: {"to": int(text)}, dest="where", metavar="N")
    where.add_argument(
        "--to-current", action="store_const", dest="where", const={"to": "current"}, help="the end where nothing is committed"
    )
    where.add_argument(
        "--to-time", "--to-datetime", type=_time, dest="where", metavar="ISO", help="the first record not older, as 2026-01-31T09:00+01:00"
    )
    where.add_argument("--by-duration", type=lambda text: {"back": text}, dest="where", metavar="SPAN", help="so long back: 2h, PT30M")
    where.add_argument("--shift-by", type=lambda text: {"shift": int(text)}, dest="where", metavar="±N")
    where.add_argument("--from-file", metavar="CSV", help="topic,partition,offset a line, as Kafka's export; - is stdin")
    changes = verb(actions, "changes", _changes, "how its offsets were moved, forgotten and put back here")
    undo = verb(actions, "undo", _undo, "put back what was committed before a change", changes=True)
    undo.add_argument("--change", type=int, metavar="ID", help="which (default: the last that was done)")
    export = verb(actions, "export", _export, "committed offsets as CSV, for --from-file and for Kafka's own tool")
    remove = verb(actions, "remove-members", _remove, "make members leave", changes=True)
    who = remove.add_mutually_exclusive_group(required=True)
    who.add_argument("--member", action="append", metavar="ID", help="a member id or a static name; may be given again")
    who.add_argument("--all", action="store_true", help="all that there are")
    forget = verb(actions, "delete-offsets", _forget, "forget what is committed on a topic", changes=True)
    takes(forget, "topic", "--topic", required=True, metavar="TOPIC[:0,2-4]")
    delete = verb(actions, "delete", _delete, "delete a group with its offsets", changes=True)
    for parser in (describe, reset, changes, undo, export, remove, forget, delete):
        takes(parser, "group", "name")


def _time(text: str) -> dict[str, str]:
    return {"time": read.moment(text)}


def _list(shell: Shell) -> None:
    o = shell.options
    rows, said = shell.rest.items(shell.at("groups"), q=o.like, lag="1" if o.lagging else "", state=o.state)
    shell.show_rows(rows, LIST, "No groups.", said)


def _describe(shell: Shell) -> None:
    name = shell.options.name
    found = shell.rest.get(shell.at("groups", name))
    if shell.options.members:
        members = table(MEMBERS, found["members"], terminal_columns()) if found["members"] else "It has no members."
        shell.show(found, lambda: f"{_head(found)}\n\n{members}")
    else:
        rows, _ = shell.rest.items(shell.at("groups", name, "offsets"))
        shell.show({**found, "offsets": rows}, lambda: f"{_head(found)}\n\n{table(OFFSETS, rows, terminal_columns())}")
    shell.warn_stale(found["as_of"])


def _head(found: dict[str, Any]) -> str:
    """What is said of it, and what it is in Kafka's words."""
    facts = [("coordinator", say.number(found["coordinator"])), ("protocol", say.text(found["protocol"]))]
    told = "; ".join(f"{name} {value}" for name, value in [*facts, ("generation", say.number(found["generation"]))])
    return "\n".join(map(plain, (found["sentence"], f"State {say.text(found['state'])}; {told}.")))


def _reset(shell: Shell) -> None:
    o = shell.options
    path = shell.at("groups", o.name, "offsets")
    plan = shell.rest.change("POST", path, {**_asked(o), "dry_run": True})
    if not _looked_at(shell, plan):
        return
    body = {**_asked(o), "confirm": True}
    if plan["time"]:
        body = {name: value for name, value in body.items() if name != "back"} | {"time": plan["time"]}
    done = shell.rest.change("POST", path, body, match=plan["seen"])
    undo = f"highwater groups undo {plain(o.name)} --change {done['change']}"
    shell.show(done["items"], f"{len(done['items'])} offsets of {plain(o.name)} are moved. To put them back: {undo}")


def _asked(options: Any) -> dict[str, Any]:
    if options.from_file:
        if options.topic or options.all_topics:
            raise Usage("The file names its topics: leave --topic and --all-topics out.")
        return {"csv": read.file_text(options.from_file)}
    if not options.topic and not options.all_topics:
        raise Usage("Name topics by --topic, or say --all-topics: all that the group has committed.")
    some = [read.partitions(text) for text in options.topic or ()]
    return {"topics": [{"topic": topic, "partitions": numbers} for topic, numbers in some] or None, **options.where}


def _looked_at(shell: Shell, plan: dict[str, Any]) -> bool:
    """The plan is shown, and confirmed; False of a dry run, which ends here."""
    o = shell.options
    said = table(MOVES, plan["items"], terminal_columns()) + f"\n{plain(plan['sentence'])}"
    said += f"\nThat is from {plan['time']} on." if plan["time"] else ""
    said += "".join(f"\nMoved since: {plain(one)}." for one in plan["drift"])
    said += f"\nNo longer there: {plain(', '.join(plan['gone']))}." if plan["gone"] else ""
    said += f"\nIt has members, and is refused while they read: {plain(', '.join(plan['members'][:5]))}." if plan["members"] else ""
    if o.dry_run:
        shell.show(plan["items"], f"{said}\nNothing was done: this is a dry run.")
        return False
    if not o.json:
        print(said, flush=True)
    shell.confirm(o.name, f"Group {o.name} would read on from there: records are read again, or never.")
    return True


def _changes(shell: Shell) -> None:
    rows, _ = shell.rest.items(shell.at("groups", shell.options.name, "offset-changes"))
    shell.show_rows(rows, CHANGES, "None is kept: the last 500 changes of this console are.")


def _undo(shell: Shell) -> None:
    o = shell.options
    path = shell.at("groups", o.name, "offset-changes")
    change = o.change if o.change is not None else _last(shell, path)
    path = f"{path}/{change}/undo"
    plan = shell.rest.change("POST", path, {"dry_run": True})
    if _looked_at(shell, plan):
        done = shell.rest.change("POST", path, {"confirm": True}, match=plan["seen"])
        shell.show(done["items"], f"{len(done['items'])} offsets of {plain(o.name)} are as before change {change}.")


def _last(shell: Shell, path: str) -> int:
    rows, _ = shell.rest.items(path, limit=50)
    found = next((row["id"] for row in rows if not row["undone_by"] and row["outcome"] == "done"), None)
    if found is None:
        raise Usage(f"No change of {shell.options.name} is kept that could be put back.")
    return int(found)


def _export(shell: Shell) -> None:
    rows, said = shell.rest.items(shell.at("groups", shell.options.name, "offsets"))
    known = [row for row in rows if row["committed"] is not None]
    shell.show(known, lambda: "\n".join(f"{plain(row['topic'])},{row['partition']},{row['committed']}" for row in known))
    shell.warn_stale(said.get("as_of"))


def _remove(shell: Shell) -> None:
    o = shell.options
    path = shell.at("groups", o.name, "members", "removal")
    body = {"all": True} if o.all else {"members": o.member}
    plan = shell.rest.change("POST", path, {**body, "dry_run": True})
    said = f"{table(LEAVING, plan['members'], terminal_columns())}\n{plain(plan['sentence'])}"
    if o.dry_run:
        shell.show(plan["members"], f"{said}\nNothing was done: this is a dry run.")
        return
    if not o.json:
        print(said, flush=True)
    shell.confirm(o.name, f"{len(plan['members'])} members would leave {o.name}.")
    done = shell.rest.change("POST", path, body)["members"]
    refused = "".join(f"\n{plain(one['member_id'])}: {plain(one['error'])}" for one in done if one["error"])
    shell.show(done, f"{sum(not one['error'] for one in done)} members left {plain(o.name)}.{refused}")


def _forget(shell: Shell) -> None:
    o = shell.options
    path = shell.at("groups", o.name, "offsets", "deletion")
    topic, numbers = read.partitions(o.topic)
    body = {"topic": topic, "partitions": numbers}
    plan = shell.rest.change("POST", path, {**body, "dry_run": True})
    if _looked_at(shell, plan):
        done = shell.rest.change("POST", path, body)
        shell.show(
            done["items"], f"{len(done['items'])} offsets of {plain(o.name)} are forgotten; change {done['change']} can be put back."
        )


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
