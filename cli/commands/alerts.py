"""`highwater alerts`: list, silence, and test a destination."""

from __future__ import annotations

from typing import Any

from cli import figures as say
from cli.errors import Usage
from cli.shell import Shell, group, verb
from cli.table import Column, plain

LIST = (
    Column("STATE", lambda a: a["state"] + ("" if a["is_known"] else " (not known now)")),
    Column("SEVERITY", lambda a: a["severity"]),
    Column("RULE", lambda a: a["rule"]),
    Column("WHERE", lambda a: a["target"]),
    Column("SINCE (UTC)", lambda a: say.moment(a["since_ms"])),
    Column("SILENCED", lambda a: f"until {say.moment(a['silenced_until'])}" if a["silenced_until"] else ""),
    Column("SENTENCE", lambda a: a["sentence"]),
)


def add(commands: Any) -> None:
    actions = group(commands, "alerts", "what rules on live figures find, and who is told")
    verb(actions, "list", _list, "what fires, is pending or was over lately")
    silence = verb(actions, "silence", _silence, "have nobody told for a while", changes=True)
    silence.add_argument("--rule", help="its name; left out: all rules")
    silence.add_argument("--target", default="", help="a broker's id or a group; left out: everywhere")
    silence.add_argument("--minutes", type=int, required=True, help="1 to 43200")
    silence.add_argument("--why", required=True, help="others will ask")
    test = verb(actions, "test", _test, "send one notice to a destination", changes=True)
    test.add_argument("destination", help="its name")


def _list(shell: Shell) -> None:
    rows = shell.rest.get(shell.at("alerts"))["items"]
    rules = shell.rest.get(shell.at("alert-rules"))["items"]
    unknown = [rule["name"] for rule in rules if rule["is_on"] and (rule["unknown_count"] or rule["looked_at_ms"] is None)]
    nothing = f"None that is known of; not known: {', '.join(unknown)}." if unknown or not rules else "No alerts."
    shell.show_rows(rows, LIST, nothing if rules else "Nobody has looked yet.")


def _named(rows: list[dict[str, Any]], name: str, what: str) -> dict[str, Any]:
    found = next((row for row in rows if row["name"].casefold() == name.casefold()), None)
    if found is None:
        raise Usage(f"There is no {what} {name!r}: there {'are ' + ', '.join(row['name'] for row in rows) if rows else 'is none'}.")
    return found


def _silence(shell: Shell) -> None:
    options = shell.options
    rule = None if options.rule is None else _named(shell.rest.get(shell.at("alert-rules"))["items"], options.rule, "rule")
    asked = {"minutes": options.minutes, "why": options.why, "target": options.target, "rule": rule and rule["id"]}
    if options.dry_run:
        shell.show({"dry_run": True, **asked}, "Nothing was done: this is a dry run.")
        return
    made = shell.rest.change("POST", shell.at("alert-silences"), asked)
    shell.show(made, lambda: f"Silence {made['id']}: nobody is told until {say.moment(made['until'])} UTC.")


def _test(shell: Shell) -> None:
    found = _named(shell.rest.get("/alert-destinations")["items"], shell.options.destination, "destination")
    if shell.options.dry_run:
        shell.show({"dry_run": True, "destination": found}, "Nothing was done: this is a dry run.")
        return
    answer = shell.rest.change("POST", f"/alert-destinations/{found['id']}/test")
    shell.show(answer, lambda: plain(f"{answer['name']}: {answer['last']}"))
