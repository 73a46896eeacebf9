"""What a command works with: its options, REST, and how it shows and asks."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from cli import completion
from cli.access import find
from cli.errors import Problem, Usage
from cli.rest import Rest, named
from cli.table import Column, plain, table, terminal_columns
from console.rules.words import duration

STALE_AFTER_S = 3.0
Run = Callable[["Shell"], int | None]


class Shell:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options

    @cached_property
    def rest(self) -> Rest:
        return find(self.options.data, self.options.url).rest()

    def at(self, *words: str | int) -> str:
        """A path of the cluster that was chosen."""
        return named("clusters", self.options.cluster, *words)

    # --- showing

    def show(self, value: Any, said: Callable[[], str] | str) -> None:
        """The value as JSON where that is wanted, else what is said of it."""
        if self.options.json:
            print(json.dumps(value, indent=None if not sys.stdout.isatty() else 2, ensure_ascii=False))
        else:
            print(said if isinstance(said, str) else said())

    def show_rows(self, rows: Sequence[Any], columns: Sequence[Column], nothing: str, said: dict[str, Any] | None = None) -> None:
        """`nothing` is told where there are none; `said` is what stood beside the list."""
        self.show(rows, lambda: table(columns, rows, terminal_columns()) if rows else nothing)
        self.warn_stale((said or {}).get("as_of"))

    def warn_stale(self, as_of: Any) -> None:
        """On stderr, whatever the form: figures that are old are not passed off as new."""
        if not as_of or not as_of.get("stale"):
            return
        age = as_of.get("age_ms")
        self.say("Nothing live is known." if age is None else f"As last seen {duration(age / 1000)} ago: what is true now may be another.")

    def say(self, text: str) -> None:
        print("\n".join(map(plain, text.splitlines())), file=sys.stderr, flush=True)

    def only_told(self, plan: Any, said: str) -> bool:
        """What would be done, before it is: True where nothing more is wanted (`--dry-run`). Who is asked back reads it first."""
        if self.options.dry_run:
            self.show(plan, f"{said}\nNothing was done: this is a dry run.")
        elif not self.options.yes:
            self.say(said)
        return bool(self.options.dry_run)

    # --- asking

    def confirm(self, name: str, risk: str) -> None:
        """`Usage` unless `--yes`, or whoever sits there types the name."""
        if self.options.yes:
            return
        if not sys.stdin.isatty():
            raise Usage(f"{risk} Nobody is there to confirm it: give --yes to do it.")
        self.say(risk)
        if input(f"Type {plain(name)} to do it: ") != name:
            raise Usage("Not confirmed: nothing was done.")

    def confirmed(self, send: Callable[[bool], Any]) -> Any:
        """What `send(confirm)` answers; asked back where REST wants a confirmation."""
        try:
            return send(self.options.yes)
        except Problem as problem:
            if problem.code != "unconfirmed" or not sys.stdin.isatty():
                raise
            self.confirm("yes", str(problem))
            return send(True)


def group(commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, words: str) -> Any:
    """A noun, whose verbs are added to what this returns."""
    return commands.add_parser(name, help=words, description=words).add_subparsers(required=True, metavar="action")


def verb(actions: Any, name: str, run: Run, words: str, *, changes: bool = False) -> argparse.ArgumentParser:
    """One that asks REST; `changes` gives it --dry-run and --yes."""
    parser: argparse.ArgumentParser = actions.add_parser(name, help=words, description=words)
    parser.add_argument("--url", help="the console's address (default: $HIGHWATER_URL, else the local system's)")
    cluster = parser.add_argument("--cluster", default=os.environ.get("HIGHWATER_CLUSTER") or "local", help="default: local")
    cluster.completer = completion.clusters  # type: ignore[attr-defined]
    parser.add_argument("--json", action="store_true", help="REST's answer, for programs")
    if changes:
        parser.add_argument("--dry-run", action="store_true", help="only tell what would be done")
        parser.add_argument("--yes", action="store_true", help="do it without asking back")
    parser.set_defaults(run=lambda options: run(Shell(options)))
    return parser


def takes(parser: argparse._ActionsContainer, kind: str, *names: str, **options: Any) -> None:
    """An argument that names a topic or a group, completed from REST."""
    argument = parser.add_argument(*names, **options)
    argument.completer = {"topic": completion.topics, "group": completion.groups}[kind]  # type: ignore[attr-defined]
