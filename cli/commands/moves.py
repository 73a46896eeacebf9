"""`highwater reassign` moves replicas, `highwater elect` leaders: both are jobs, an unclean election is not."""

from __future__ import annotations

from typing import Any

from cli import figures as say
from cli import read
from cli.commands import moving
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
PLANNED = (
    Column("TOPIC", lambda m: m["topic"]),
    Column("PARTITION", lambda m: str(m["partition"]), right=True),
    Column("NOW", lambda m: say.ids(m["before"])),
    Column("THEN", lambda m: say.ids(m["replicas"])),
    Column("TO COPY", lambda m: say.size(m["copy_bytes"]), right=True),
    Column("WHY", lambda m: m["why"]),
)
GOALS = ("topics", "to", "rf", "away", "instead", "leaders", "balance")
AIMS = "racks,capacity,replicas,leaders,disk,traffic"
BALANCED = "racks,capacity,replicas,leaders,disk"
"""Without what no broker tells of a partition yet."""


def add(commands: Any) -> None:
    reassign = verb(commands, "reassign", _reassign, "move replicas as a file says, or as a plan for a goal does", changes=True)
    reassign.add_argument(
        "file",
        nargs="?",
        help="Kafka's JSON for kafka-reassign-partitions, or the list that REST takes; - for stdin; none with a goal",
    )
    takes(reassign, "topic", "--topics", nargs="+", default=[], help="orders, or orders:0,2-4 for some partitions")
    reassign.add_argument("--to", help="brokers with commas: replicas only on these")
    reassign.add_argument("--rf", type=int, help="so many replicas of each partition")
    reassign.add_argument("--away", help="brokers with commas that are to be emptied; of all topics where none is named")
    reassign.add_argument("--instead", type=int, help="the broker that takes their places")
    reassign.add_argument("--leaders", action="store_true", help="spread the preferred leaders evenly")
    reassign.add_argument(
        "--balance", nargs="?", const=BALANCED, help=f"balance the brokers, of all topics where none is named; some of {AIMS}"
    )
    instead = reassign.add_mutually_exclusive_group()
    instead.add_argument("--list", action="store_true", help="what is being moved, whoever began it; moves nothing")
    instead.add_argument("--verify", action="store_true", help="whether the file's partitions have what it wants; moves nothing")
    instead.add_argument("--cancel", action="store_true", help="end the moves of the file's partitions (a job's: highwater jobs cancel)")
    instead.add_argument("--adopt", action="store_true", help="have a job take over what others began to move")
    instead.add_argument("--clear-throttles", action="store_true", help="take back throttles that were left set and nothing uses")
    reassign.add_argument("--throttle", help="bytes a second on each broker, as 10MiB; 5MiB-50MiB: steered, slowing no one down")
    reassign.add_argument("--at-once", type=int, help="partitions that a broker copies at a time (10); as one ends the next begins")
    elect = verb(commands, "elect", _elect, "preferred leaders of all topics, of those that are named, or of a broker", changes=True)
    takes(elect, "topic", "--topic", action="append", default=[], help="may be given again")
    elect.add_argument("--broker", type=int, help="only partitions whose preferred leader is this broker")
    elect.add_argument("--unclean", action="store_true", help="for a topic's partitions without a leader; loses records")
    for parser in (reassign, elect):
        parser.add_argument("--watch", action="store_true", help="follow the job to its end")


def _reassign(shell: Shell) -> None:
    o = shell.options
    aims = [f"--{name}" for name in GOALS if getattr(o, name) not in (None, [], False)]
    if o.clear_throttles:
        if aims or o.file:
            raise Usage("--clear-throttles stands alone.")
        moving.clear_throttles(shell)
        return
    if o.adopt:
        if aims or o.file:
            raise Usage("--adopt takes no file and no goal.")
        moving.adopt(shell, _pace(shell))
        return
    if o.list or o.verify or o.cancel:
        _look_or_end(shell, aims)
        return
    if bool(o.file) == bool(aims):
        raise Usage("Give a file, or a goal: --topics with --to, --rf or --leaders, --away, or --balance.")
    if aims:
        _reach(shell)
        return
    rows = read.assignments(read.file_text(o.file), o.file)
    if o.dry_run or not o.yes:
        plan = _plan(shell, rows)
        if shell.only_told(plan, table(MOVES, plan, terminal_columns())):
            return
    _move(shell, rows)


def _look_or_end(shell: Shell, aims: list[str]) -> None:
    o = shell.options
    if aims or bool(o.file) == o.list:
        raise Usage("--list stands alone; --verify and --cancel want a file, and no goal.")
    if o.list:
        moving.show_list(shell)
    elif o.cancel:
        moving.cancel(shell, o.file)
    else:
        rows = read.assignments(read.file_text(o.file), o.file)
        moving.verify(shell, rows, _plan(shell, rows))


def _reach(shell: Shell) -> None:
    """Has the console plan it, shows that, and starts the job."""
    found = shell.rest.change("POST", shell.at("plans"), _goal(shell))
    rows = found["reassignment"]["partitions"]
    if not rows and not shell.options.dry_run:
        shell.show(found, lambda: _told(found))
    elif not shell.only_told(found, _told(found)):
        _move(shell, rows)


def _goal(shell: Shell) -> dict[str, Any]:
    o = shell.options
    chosen = [read.partitions(text) for text in o.topics]
    body: dict[str, Any] = {
        "topics": [topic for topic, numbers in chosen if numbers is None],
        "partitions": [{"topic": topic, "partition": number} for topic, numbers in chosen for number in numbers or ()],
        "to": read.brokers(o.to),
        "away": read.brokers(o.away),
        "leaders": o.leaders,
        "balance": _aims(o.balance),
    }
    return body | {name: value for name, value in (("replication_factor", o.rf), ("instead", o.instead)) if value is not None}


def _aims(text: str | None) -> list[str]:
    aims = [aim.strip() for aim in (text or "").split(",") if aim.strip()]
    if unknown := [aim for aim in aims if aim not in AIMS.split(",")]:
        raise Usage(f"--balance knows no {unknown[0]!r}: some of {AIMS}.")
    return aims


def _told(found: dict[str, Any]) -> str:
    moves = found["plan"]["moves"]
    return "\n".join(([table(PLANNED, moves, terminal_columns())] if moves else []) + [plain(found["sentence"])])


def _move(shell: Shell, rows: list[dict[str, Any]]) -> None:
    o = shell.options
    body: dict[str, Any] = {"cluster": o.cluster, "kind": "reassignment", "assignments": rows}
    body |= _pace(shell)
    who = "1 partition" if len(rows) == 1 else f"{len(rows)} partitions"
    shell.confirm(o.cluster, f"{who} of cluster {o.cluster} would get these replicas, which are copied first.")
    _begin(shell, body)


def _pace(shell: Shell) -> dict[str, Any]:
    o = shell.options
    throttle = {"throttle": read.throttle(o.throttle)} if o.throttle else {}
    return throttle | ({"at_once": o.at_once} if o.at_once is not None else {})


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
    if o.topic and o.broker is not None:
        raise Usage("Name topics or a broker: an election is of one or the other, or of all.")
    what = ", ".join(o.topic) or ("all topics" if o.broker is None else f"broker {o.broker}")
    if o.dry_run:
        found = shell.rest.get(shell.at())
        words = f"Preferred leaders of {what}: {say.number(found['not_preferred'])} partitions of the cluster have another leader now."
        shell.show({"dry_run": True, "not_preferred": found["not_preferred"]}, words)
        return
    _begin(shell, {"cluster": o.cluster, "kind": "preferred_leader_election"} | _of(o.topic, o.broker))


def _of(topics: list[str], broker: int | None) -> dict[str, Any]:
    return {"topics": topics} if topics else {} if broker is None else {"broker": broker}


def _elect_unclean(shell: Shell) -> None:
    o = shell.options
    if len(o.topic) != 1 or o.broker is not None:
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
