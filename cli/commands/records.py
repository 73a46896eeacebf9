"""`highwater events`, `audit` and `reports`: what happened, who did what, and how healthy the cluster is."""

from __future__ import annotations

from typing import Any

from cli import figures as say
from cli.commands.moves import begin
from cli.shell import Shell, group, takes, verb
from cli.table import Column, plain, table, terminal_columns
from cli.watching import awaited, tail

EVENTS = (
    Column("TIME (UTC)", lambda e: say.moment(e["at_ms"])),
    Column("LEVEL", lambda e: e["level"]),
    Column("KIND", lambda e: e["kind"]),
    Column("WHAT HAPPENED", lambda e: e["sentence"]),
)
AUDIT = (
    Column("TIME (UTC)", lambda a: say.moment(a["at"])),
    Column("WHO", lambda a: a["actor"]),
    Column("BY", lambda a: a["via"]),
    Column("WHAT", lambda a: a["action"]),
    Column("TO", lambda a: a["target"]),
    Column("OUTCOME", lambda a: a["outcome"]),
    Column("WHY", lambda a: a["error"]),
)
REPORTS = (
    Column("REPORT", lambda r: str(r["id"]), right=True),
    Column("TIME (UTC)", lambda r: say.moment(r["at"])),
    Column("LEVEL", lambda r: r["level"]),
    Column("IN WORDS", lambda r: r["sentence"]),
)
CHECKS = (
    Column("CHECK", lambda c: f"{c['number']} {c['title']}".strip()),
    Column("LEVEL", lambda c: c["level"]),
    Column("RESULT", lambda c: c["sentence"]),
)
SHOWN = 50


def add(commands: Any) -> None:
    _add_list(commands, "events", "what happened in the cluster", _events, _events_tail)
    _add_list(commands, "audit", "every change and sign-in (needs the role admin)", _audit, _audit_tail)
    actions = group(commands, "reports", "health reports")
    verb(actions, "list", _reports, "all reports, newest first").add_argument("--limit", type=int, default=SHOWN)
    verb(actions, "show", _report, "a report's findings").add_argument("id", type=int, nargs="?", help="default: the newest")
    run = verb(actions, "run", _run, "ask for a report, and show it")
    run.add_argument("--no-wait", action="store_true", help="only ask for it")


def _add_list(commands: Any, name: str, words: str, show: Any, follow: Any) -> None:
    actions = group(commands, name, words)
    listing, tailing = verb(actions, "list", show, "newest first"), verb(actions, "tail", follow, "the last ones, then each new one")
    tailing.add_argument("--seconds", type=float, help="end after so long (default: at Ctrl-C)")
    for parser, count in ((listing, SHOWN), (tailing, 10)):
        parser.add_argument("--limit", type=int, default=count, help=f"default: {count}")
        if name == "events":
            parser.add_argument("--kind", default="")
            takes(parser, "topic", "--topic", default="")
            takes(parser, "group", "--group", default="")
            parser.add_argument("--broker", type=int)


def _filters(shell: Shell) -> dict[str, Any]:
    return {name: getattr(shell.options, name) for name in ("kind", "topic", "group", "broker")}


def _events(shell: Shell) -> None:
    rows, _ = shell.rest.items(shell.at("events"), shell.options.limit, **_filters(shell))
    shell.show_rows(rows, EVENTS, "No events.")


def _events_tail(shell: Shell) -> None:
    tail(shell, shell.at("events"), lambda e: f"{say.moment(e['at_ms'])}  {e['level']:<6}  {e['sentence']}", **_filters(shell))


def _audit(shell: Shell) -> None:
    rows, _ = shell.rest.items("/audit", shell.options.limit)
    shell.show_rows(rows, AUDIT, "Nothing was done yet.")


def _audit_tail(shell: Shell) -> None:
    tail(shell, "/audit", lambda a: f"{say.moment(a['at'])}  {a['actor']} ({a['via']})  {a['action']}  {a['target']}  {a['outcome']}")


def _reports(shell: Shell) -> None:
    rows, _ = shell.rest.items(shell.at("reports"), shell.options.limit)
    shell.show_rows(rows, REPORTS, "No report yet: highwater reports run")


def _report(shell: Shell) -> None:
    number = shell.options.id
    if number is None:
        rows, _ = shell.rest.items(shell.at("reports"), 1)
        found = rows[0] if rows else None
    else:
        found = shell.rest.get(shell.at("reports", number))
    shell.show(found, lambda: _said(found) if found else "No report yet: highwater reports run")


def _said(report: dict[str, Any]) -> str:
    head = f"Report {report['id']} of {say.moment(report['at'])} UTC: {plain(report['sentence'])}"
    found = [plain(f"  {check['title']}: {item}") for check in report["checks"] for item in check["items"]]
    return "\n".join([head, "", table(CHECKS, report["checks"], terminal_columns()), *([""] if found else []), *found])


def _run(shell: Shell) -> None:
    o = shell.options
    wanted = {"cluster": o.cluster, "kind": "health_report"}
    if o.no_wait:
        begin(shell, wanted, follow=False)
        return
    job = awaited(shell, shell.rest.change("POST", "/jobs", wanted))
    found = shell.rest.get(shell.at("reports", job["result"]["report"]))
    shell.show(found, lambda: _said(found))
