"""`highwater reassign` moves replicas, `highwater elect` leaders: both are jobs, an unclean election is not."""

from __future__ import annotations

from typing import Any

from cli import figures as say
from cli import read
from cli.errors import Usage
from cli.shell import Shell, takes, verb
from cli.table import Column, plain, table, terminal_columns
from cli.watching import told, watch

MOVES = (
    Column("TOPIC", lambda m: m["topic"]),
    Column("PARTITION", lambda m: str(m["partition"]), right=True),
    Column("NOW", lambda m: say.ids(m["now"] or ())),
    Column("THEN", lambda m: say.ids(m["replicas"])),
)


def add(commands: Any) -> None:
    reassign = verb(commands, "reassign", _reassign, "move replicas as a file says", changes=True)
    reassign.add_argument("file", help="Kafka's JSON for kafka-reassign-partitions, or the list that REST takes; - for stdin")
    reassign.add_argument("--throttle", help="bytes a second on each broker, as 10MiB")
    elect = verb(commands, "elect", _elect, "preferred leaders of all topics, or of those that are named", changes=True)
    takes(elect, "topic", "--topic", action="append", default=[], help="may be given again")
    elect.add_argument("--unclean", action="store_true", help="for a topic's partitions without a leader; loses records")
    for parser in (reassign, elect):
        parser.add_argument("--watch", action="store_true", help="follow the job to its end")


def _reassign(shell: Shell) -> None:
    o = shell.options
    rows = read.assignments(read.file_text(o.file), o.file)
    body: dict[str, Any] = {"cluster": o.cluster, "kind": "reassignment", "assignments": rows}
    body |= {"throttle": read.bytes_a_second(o.throttle)} if o.throttle else {}
    if o.dry_run:
        plan = _plan(shell, rows)
        shell.show(plan, lambda: f"{table(MOVES, plan, terminal_columns())}\nNothing was done: this is a dry run.")
        return
    if not o.yes:
        shell.say(table(MOVES, _plan(shell, rows), terminal_columns()))
    shell.confirm(o.cluster, f"{len(rows)} partitions of cluster {o.cluster} would get these replicas, which are copied first.")
    _begin(shell, body)


def _plan(shell: Shell, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What each partition that is named has now; None where there is no such partition."""
    now: dict[tuple[str, int], Any] = {}
    for topic in sorted({str(row.get("topic")) for row in rows}):
        now |= {(topic, p["partition"]): p["assignment"] for p in shell.rest.items(shell.at("topics", topic, "partitions"))[0]}
    return [
        {"topic": row.get("topic"), "partition": row.get("partition"), "replicas": row.get("replicas") or [], "now": now.get(_key(row))}
        for row in rows
    ]


def _key(row: dict[str, Any]) -> Any:
    return str(row.get("topic")), row.get("partition")


def _elect(shell: Shell) -> None:
    o = shell.options
    if o.unclean:
        _elect_unclean(shell)
        return
    what = ", ".join(o.topic) or "all topics"
    if o.dry_run:
        found = shell.rest.get(shell.at())
        words = f"Preferred leaders of {what}: {say.number(found['not_preferred'])} partitions of the cluster have another leader now."
        shell.show({"dry_run": True, "not_preferred": found["not_preferred"]}, words)
        return
    _begin(shell, {"cluster": o.cluster, "kind": "preferred_leader_election"} | ({"topics": o.topic} if o.topic else {}))


def _elect_unclean(shell: Shell) -> None:
    o = shell.options
    if len(o.topic) != 1:
        raise Usage("An unclean election is of one topic: name it by --topic.")
    if o.dry_run or o.watch:
        raise Usage("An unclean election has no dry run and no job: without --yes it tells what would be lost, and asks.")
    path = shell.at("topics", o.topic[0], "unclean-election")
    answer = shell.confirmed(lambda confirm: shell.rest.change("POST", path, {"confirm": confirm}))
    shell.show(answer, lambda: f"{len(answer['elected'])} partitions of {plain(o.topic[0])} got a leader, {len(answer['failed'])} did not.")


def _begin(shell: Shell, body: dict[str, Any]) -> None:
    begin(shell, body, follow=shell.options.watch)


def begin(shell: Shell, body: dict[str, Any], *, follow: bool) -> dict[str, Any]:
    """The job that was asked for; once it is over, where it is followed."""
    job: dict[str, Any] = shell.rest.change("POST", "/jobs", body)
    if follow:
        return watch(shell, job)
    shell.show(job, lambda: f"{told(job)}\nTo follow it: highwater jobs watch {job['id']}")
    return job
