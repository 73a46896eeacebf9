"""`highwater schedules`: list, show, pause, resume, run, and elections after a broker's return."""

from __future__ import annotations

from typing import Any

from cli import figures as say
from cli.errors import Usage
from cli.shell import Shell, group, verb
from cli.table import Column, plain, table, terminal_columns
from cli.watching import watch

LIST = (
    Column("ID", lambda s: str(s["id"]), right=True),
    Column("NAME", lambda s: s["name"]),
    Column("DOES", lambda s: s["does"]),
    Column("CRON", lambda s: s["cron"]),
    Column("ZONE", lambda s: s["zone"]),
    Column("NEXT", lambda s: s["next_words"].rstrip(".") if s["is_paused"] else s["next_words"]),
    Column("LAST", lambda s: s["last"]["state"].replace("_", " ") if s["last"] else "not yet"),
)
RUNS = (
    Column("DUE (UTC)", lambda r: say.moment(r["due_at"])),
    Column("BECAME", lambda r: r["state"].replace("_", " ")),
    Column("JOB", lambda r: say.text(r["job"]), right=True),
    Column("LASTED", lambda r: say.seconds(r["lasted_s"]), right=True),
    Column("BY", lambda r: r["by"]),
    Column("SENTENCE", lambda r: r["sentence"]),
)
RUNS_SHOWN = 10


def add(commands: Any) -> None:
    actions = group(commands, "schedules", "jobs that are begun again and again")
    verb(actions, "list", _list, "all schedules, with the next time and the last result of each")
    show = verb(actions, "show", _show, "one schedule, its next times and what became of the last ones")
    pause = verb(actions, "pause", lambda shell: _pause(shell, "pause"), "have a schedule begin nothing more", changes=True)
    resume = verb(actions, "resume", lambda shell: _pause(shell, "resume"), "have a paused schedule go on", changes=True)
    run = verb(actions, "run", _run, "begin its job now", changes=True)
    run.add_argument("--watch", action="store_true", help="follow the job to its end")
    for parser in (show, pause, resume, run):
        parser.add_argument("schedule", help="its id or its name")
    after = verb(actions, "after-return", _after_return, "whether leaders go back to a broker that has returned", changes=True)
    after.add_argument("set", nargs="?", choices=("on", "off"), help="left out: only tell")


def _list(shell: Shell) -> None:
    rows, _ = shell.rest.items(shell.at("schedules"))
    shell.show_rows(rows, LIST, "No schedules.")


def _found(shell: Shell) -> dict[str, Any]:
    """By id, or by name in any case of letters: names are not twice in a cluster."""
    wanted = str(shell.options.schedule)
    if wanted.isascii() and wanted.isdigit():
        return dict(shell.rest.get(shell.at("schedules", wanted)))
    rows, _ = shell.rest.items(shell.at("schedules"))
    found = next((row for row in rows if row["name"].casefold() == wanted.casefold()), None)
    if found is None:
        raise Usage(f"There is no schedule {wanted!r}: highwater schedules list tells which there are.")
    return dict(found)


def _told(row: dict[str, Any]) -> str:
    return table(LIST, [row], terminal_columns())


def _show(shell: Shell) -> None:
    row = _found(shell)
    runs, _ = shell.rest.items(shell.at("schedules", row["id"], "runs"), RUNS_SHOWN)
    times = shell.rest.get(shell.at("schedules", "preview"), cron=row["cron"], zone=row["zone"])["times"]
    shell.show({**row, "times": times, "runs": runs}, lambda: _described(row, times, runs))


def _described(row: dict[str, Any], times: list[dict[str, Any]], runs: list[dict[str, Any]]) -> str:
    would = "Were it not paused, it would be due" if row["is_paused"] else "Due"
    lines = [_told(row), "", f"{would} ({row['zone']}):", *(f"  {time['local']} ({time['offset']})" for time in times)]
    return "\n".join([*lines, "", table(RUNS, runs, terminal_columns()) if runs else "It was never due yet."])


def _pause(shell: Shell, how: str) -> None:
    row = _found(shell)
    if shell.options.dry_run:
        shell.show({"dry_run": True, "schedule": row}, f"{_told(row)}\nNothing was done: this is a dry run.")
        return
    answer = shell.rest.change("POST", f"{shell.at('schedules', row['id'])}/{how}")
    shell.show(answer, lambda: _told(answer))


def _run(shell: Shell) -> None:
    row = _found(shell)
    if shell.options.dry_run:
        shell.show({"dry_run": True, "schedule": row}, f"{plain(row['does'])}\nNothing was done: this is a dry run.")
        return
    run = shell.rest.change("POST", f"{shell.at('schedules', row['id'])}/run")
    if shell.options.watch and run["job"] is not None:
        watch(shell, shell.rest.get(f"/jobs/{run['job']}"))
        return
    shell.show(run, lambda: table(RUNS, [run], terminal_columns()))


def _after_return(shell: Shell) -> None:
    path, wanted = shell.at("election-after-return"), shell.options.set
    found = shell.rest.get(path)
    if wanted is not None and not shell.options.dry_run:
        found = shell.rest.change("PUT", path, {"is_on": wanted == "on"})
    rest = f"\nNothing was done: this is a dry run; it would be {wanted}." if wanted is not None and shell.options.dry_run else ""
    shell.show(found, lambda: plain(found["sentence"]) + rest)
