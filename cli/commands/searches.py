"""`highwater records search`: records of a topic, told as they are found; Ctrl-C stops the search itself."""

from __future__ import annotations

import argparse
import time
from typing import Any

from cli import figures as say
from cli.errors import Stopped
from cli.shell import Shell, takes, verb
from cli.table import plain

LOOK_EVERY_S = 0.5
TELL_EVERY_S = 2.0
GOES_ON = ("queued", "running")
ENDED_EARLY = ("failed", "interrupted", "timed_out")
STARTS = ("newest", "oldest", "offset", "time", "live")
TEXTS = {
    "text": "what key or value contains",
    "header": "a header, as name or name=value",
    "path": "a JSON path that leads to something in the value",
    "equals": "and to this",
    "time": "not older than this, as 2026-01-31T09:00 (UTC)",
    "until": "not newer than this",
    "at": "where another search goes on: `next` of the one before",
}
NAMES = (*TEXTS, "start", "offset", "partition", "count", "where", "isolation", "regex", "origin")
LIVE_KEPT = 500
"""Of a live search the console keeps so many."""


def add_to(actions: Any) -> None:
    search = verb(actions, "search", _search, "find records of a topic; Ctrl-C stops the search")
    takes(search, "topic", "topic")
    search.add_argument("--start", choices=STARTS, default="newest", help="default: newest")
    search.add_argument("--count", type=int, default=50, help="find at most so many, up to 500; default: 50")
    add_filters(search)


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Which records are wanted."""
    parser.add_argument("--offset", type=int, help="with --start offset")
    parser.add_argument("--partition", type=int, help="default: all")
    for name, words in TEXTS.items():
        parser.add_argument(f"--{name}", default="", help=words)
    parser.add_argument("--where", choices=("any", "key", "value"), default="any", help="where the text is looked for")
    parser.add_argument("--regex", action="store_true", help="the text is a pattern (RE2)")
    parser.add_argument("--ignore-case", action="store_true", help="upper and lower case are the same")
    parser.add_argument("--isolation", choices=("uncommitted", "committed"), default="uncommitted")
    parser.add_argument("--origin", action="store_true", help="who wrote each, and control records")


def asked(options: Any) -> dict[str, Any]:
    """What of the options is said at all."""
    given = {name: getattr(options, name, None) for name in NAMES}
    return {name: value for name, value in given.items() if value not in (None, "", False)} | {"case": not options.ignore_case}


def _search(shell: Shell) -> None:
    state = shell.rest.change("POST", shell.at("topics", shell.options.topic, "searches"), asked(shell.options))
    Following(shell, state).to_its_end()


class Following:
    """A search as it goes on; `items` are kept only where they are told as JSON, at the end."""

    def __init__(self, shell: Shell, state: dict[str, Any]) -> None:
        self._shell, self.state, self._path = shell, state, shell.at("searches", state["id"])
        self.items: list[Any] = []
        self._seen, self._told_s = 0, time.monotonic()

    def to_its_end(self) -> None:
        """`Stopped` where it does not come there; Ctrl-C stops the search itself."""
        try:
            self._until_over()
        except KeyboardInterrupt:
            self._stop()
            raise
        finally:
            self.end()
        if self.state["state"] in ENDED_EARLY:
            raise Stopped(f"The search did not come to its end: {self.state['reason']}")

    def _until_over(self) -> None:
        while True:
            self.state = self._shell.rest.get(self._path)
            self._take()
            if self.state["state"] not in GOES_ON:
                return
            if time.monotonic() - self._told_s >= TELL_EVERY_S:
                self._told_s = time.monotonic()
                self._shell.say(self.told())
            time.sleep(LOOK_EVERY_S)

    def _take(self) -> None:
        """What was found since; of a live search what is not kept any more is told to be missing."""
        gone = max(self.state["found"] - LIVE_KEPT, 0) if self._shell.options.start == "live" else 0
        if gone > self._seen:
            self._shell.say(f"{say.number(gone - self._seen)} records came faster than they could be shown.")
            self._seen = gone
        while self._seen < self.state["found"]:
            page = self._shell.rest.get(f"{self._path}/records", limit=500, cursor=self._seen - gone or None)["items"]
            if not page:
                return
            self._seen += len(page)
            for one in page:
                self._tell(one)

    def _tell(self, one: dict[str, Any]) -> None:
        if self._shell.options.json:
            self.items.append(one)
        else:
            print(_line(one), flush=True)

    def told(self) -> str:
        return str(self.state["sentence"])

    def _stop(self) -> None:
        self.state = self._shell.rest.change("POST", f"{self._path}/stop")

    def end(self) -> None:
        self._shell.say(f"{self.told()} {self.state['reason']}".strip())
        if self._shell.options.json:
            self._shell.show({"search": self.state, "items": self.items}, "")


def _line(one: dict[str, Any]) -> str:
    origin = one.get("origin") or {}
    value = origin["sentence"] if origin.get("control") else "(tombstone)" if one["value"] is None else one["value"]["text"]
    who = f"  ({origin['sentence']})" if origin and not origin["control"] else ""
    key = "-" if one["key"] is None else one["key"]["text"]
    return plain(f"{one['partition']}/{one['offset']}  {say.moment(one['timestamp_ms'])}  {key}  {value}{who}")
