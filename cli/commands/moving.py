"""`highwater reassign --list`, `--verify FILE`, `--cancel FILE` and `--adopt`: moves that are under way, whoever began them."""

from __future__ import annotations

from typing import Any

from cli import figures as say
from cli import read
from cli.errors import Stopped, Usage
from cli.shell import Shell
from cli.table import Column, plain, table, terminal_columns
from cli.watching import follow

UNDER_WAY = (
    Column("TOPIC", lambda m: m["topic"]),
    Column("PARTITION", lambda m: str(m["partition"]), right=True),
    Column("REPLICAS", lambda m: say.ids(m["replicas"])),
    Column("ADDING", lambda m: say.ids(m["adding"])),
    Column("REMOVING", lambda m: say.ids(m["removing"])),
    Column("JOB", lambda m: say.number(m["job"]), right=True),
)
VERIFIED = (
    Column("TOPIC", lambda m: m["topic"]),
    Column("PARTITION", lambda m: str(m["partition"]), right=True),
    Column("NOW", lambda m: say.ids(m["now"] or ())),
    Column("WANTED", lambda m: say.ids(m["replicas"])),
    Column("OUTCOME", lambda m: m["outcome"]),
)
THROTTLES = (
    Column("WHOSE", lambda t: f"{t['kind']} {t['name']}"),
    Column("SETTINGS", lambda t: ", ".join(f"{name}={value}" for name, value in t["settings"].items())),
    Column("USED BY", lambda t: t["in_use"] or "nothing"),
)
DONE, MOVING, OTHER, ABSENT = "done", "under way", "has other replicas", "no such partition"


def show_list(shell: Shell) -> None:
    shell.show_rows(_under_way(shell), UNDER_WAY, "Nothing is being moved.")


def verify(shell: Shell, wanted: list[dict[str, Any]], now: list[dict[str, Any]]) -> None:
    """`now` are the same rows with the replicas that each partition has. `Stopped` unless all have what is wanted."""
    moving = {(move["topic"], move["partition"]) for move in _under_way(shell)}
    rows = [{**row, "outcome": _outcome(row, (row["topic"], row["partition"]) in moving)} for row in now]
    shell.show_rows(rows, VERIFIED, "The file names no partition.")
    if left := [row for row in rows if row["outcome"] != DONE]:
        raise Stopped(f"{len(left)} of {len(wanted)} partitions have not what the file wants.")


def _outcome(row: dict[str, Any], is_moving: bool) -> str:
    if row["now"] is None:
        return ABSENT
    if is_moving:
        return MOVING
    return DONE if row["now"] == row["replicas"] else OTHER


def cancel(shell: Shell, name: str) -> None:
    """Of the file's partitions those that are being moved; a job's are named by REST's refusal."""
    o = shell.options
    named = {(str(row.get("topic")), row.get("partition")) for row in read.assignments(read.file_text(name), name)}
    moves = [move for move in _under_way(shell) if (move["topic"], move["partition"]) in named]
    if not moves:
        raise Usage("None of the file's partitions is being moved.")
    path, places = shell.at("reassignments", "cancellation"), [{"topic": m["topic"], "partition": m["partition"]} for m in moves]
    plan = shell.rest.change("POST", path, {"partitions": places, "dry_run": True})
    if shell.only_told(plan, table(UNDER_WAY, plan["moves"], terminal_columns())):
        return
    shell.confirm(o.cluster, f"{len(moves)} moves of cluster {o.cluster} would end, and their partitions keep the replicas they had.")
    done = shell.rest.change("POST", path, {"partitions": places})
    shell.show(done, f"{len(done['moves'])} moves are cancelled.")
    if done["failed"]:
        first = done["failed"][0]
        raise Stopped(f"{len(done['failed'])} go on, the first: {plain(first['topic'])}-{first['partition']}: {first['error']}")


def adopt(shell: Shell, pace: dict[str, Any]) -> None:
    """All moves that are no job's become one's: they go on as they are, and can be watched, throttled and taken back."""
    o, path = shell.options, shell.at("reassignments", "adoption")
    plan = shell.rest.change("POST", path, {**pace, "dry_run": True})
    if shell.only_told(plan, table(UNDER_WAY, plan["moves"], terminal_columns())):
        return
    shell.confirm(o.cluster, f"A job would take over {len(plan['moves'])} moves of cluster {o.cluster} that somebody else began.")
    places = [{"topic": move["topic"], "partition": move["partition"]} for move in plan["moves"]]
    job = shell.rest.change("POST", path, {**pace, "partitions": places})["job"]
    follow(shell, job)


def clear_throttles(shell: Shell) -> None:
    """Those that nothing uses; the others are shown and stay."""
    o = shell.options
    found = shell.rest.items(shell.at("throttles"))[0]
    left = [one for one in found if one["in_use"] is None]
    said = table(THROTTLES, found, terminal_columns())
    if not left:
        nothing = "No throttle was left behind."
        shell.show(found, f"{said}\n{nothing}" if found else nothing)
        return
    if shell.only_told(found, said):
        return
    shell.confirm(o.cluster, f"The throttles of cluster {o.cluster} that nothing uses would be taken back: {len(left)}.")
    done = shell.rest.change("DELETE", shell.at("throttles"))
    wrong = [one for one in done["throttles"] if one["error"]]
    shell.show(done, f"{len(done['throttles']) - len(wrong)} throttles are cleared.")
    if wrong:
        raise Stopped(f"{plain(wrong[0]['kind'])} {plain(wrong[0]['name'])} keeps its throttle: {wrong[0]['error']}")


def _under_way(shell: Shell) -> list[dict[str, Any]]:
    return shell.rest.items(shell.at("reassignments"))[0]
