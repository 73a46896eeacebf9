"""`highwater jobs`: list, show, watch, pause, resume, cancel."""

from __future__ import annotations

from typing import Any

from cli import figures as say
from cli.rest import named
from cli.shell import Shell, group, verb
from cli.table import Column, plain
from cli.watching import told, watch

LIST = (
    Column("JOB", lambda j: str(j["id"]), right=True),
    Column("KIND", lambda j: j["kind"]),
    Column("STATE", lambda j: j["state"]),
    Column("DONE", lambda j: f"{say.number(j['progress']['done'])}/{say.number(j['progress']['total'])}", right=True),
    Column("CREATED (UTC)", lambda j: say.moment(j["created_at"])),
    Column("BY", lambda j: j["created_by"]),
    Column("MESSAGE", lambda j: j["message"]),
)
SHOWN = 50


def add(commands: Any) -> None:
    actions = group(commands, "jobs", "work that takes longer than a request")
    listing = verb(actions, "list", _list, "jobs, newest first")
    listing.add_argument("--state", default="", help="only those in this state")
    listing.add_argument("--limit", type=int, default=SHOWN)
    show = verb(actions, "show", _show, "one job")
    follow = verb(actions, "watch", _watch, "follow a job to its end; exit status 1 where it does not succeed")
    cancel = verb(actions, "cancel", _cancel, "ask for a job's end", changes=True)
    pause = verb(actions, "pause", lambda shell: _pause(shell, "pause"), "have a job begin nothing more", changes=True)
    resume = verb(actions, "resume", lambda shell: _pause(shell, "resume"), "have a paused job go on", changes=True)
    for parser in (show, follow, pause, resume, cancel):
        parser.add_argument("id", type=int)


def _list(shell: Shell) -> None:
    rows, _ = shell.rest.items("/jobs", shell.options.limit, cluster=shell.options.cluster, state=shell.options.state)
    shell.show_rows(rows, LIST, "No jobs.")


def _job(shell: Shell) -> dict[str, Any]:
    return dict(shell.rest.get(named("jobs", shell.options.id)))


def _show(shell: Shell) -> None:
    job = _job(shell)
    shell.show(job, lambda: told(job))


def _watch(shell: Shell) -> None:
    watch(shell, _job(shell))


def _cancel(shell: Shell) -> None:
    job = _job(shell)
    if shell.options.dry_run:
        shell.show({"dry_run": True, "job": job}, f"{told(job)}\nCancelling means: {plain(job['cancel_means'])}")
        return
    shell.confirm(str(job["id"]), f"{told(job)}\nCancelling means: {job['cancel_means']}")
    answer = shell.rest.change("DELETE", named("jobs", job["id"]))
    shell.show(answer, lambda: told(answer))


def _pause(shell: Shell, how: str) -> None:
    job = _job(shell)
    if shell.options.dry_run:
        shell.show({"dry_run": True, "job": job}, f"{told(job)}\n{plain(job['pause_means'])}")
        return
    answer = shell.rest.change("POST", f"{named('jobs', job['id'])}/{how}")
    shell.show(answer, lambda: told(answer))
