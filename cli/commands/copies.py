"""`highwater records copy`: records of one topic written to another as well, by a job."""

from __future__ import annotations

from typing import Any

from cli import figures as say
from cli.commands import exports, searches, writes
from cli.shell import Shell, group, takes, verb
from cli.table import Column, plain, table, terminal_columns
from cli.watching import follow

RANGES = (
    Column("PARTITION", lambda r: str(r["partition"]), right=True),
    Column("FROM", lambda r: say.number(r["first"]), right=True),
    Column("UP TO", lambda r: say.number(r["last"]), right=True),
)
FILTER = ("time", "until", "text", "header", "path", "equals")


def add(commands: Any) -> None:
    actions = group(commands, "records", "find, export, copy, write and delete records")
    searches.add_to(actions)
    exports.add_to(actions)
    writes.add_to(actions)
    copy = verb(actions, "copy", _copy, "write records of a topic to another as well", changes=True)
    takes(copy, "topic", "source")
    takes(copy, "topic", "target")
    copy.add_argument("--partition", type=int, action="append", default=[], help="of the source; may be given again; default: all")
    copy.add_argument("--from-offset", type=int, help="default: the beginning")
    copy.add_argument("--to-offset", type=int, help="exclusive; default: the end as it is when the copy begins")
    copy.add_argument("--time", default="", help="not older than this, as 2026-01-31T09:00 (UTC)")
    copy.add_argument("--until", default="", help="not newer than this")
    copy.add_argument("--text", default="", help="only what contains this in key or value")
    copy.add_argument("--regex", action="store_true", help="the text is a pattern (RE2)")
    copy.add_argument("--header", default="", help="only with this header, as name or name=value")
    copy.add_argument("--path", default="", help="only where this JSON path leads to something")
    copy.add_argument("--equals", default="", help="and to this")
    copy.add_argument("--keep-partition", action="store_true", help="to the partition of the same number; both topics have as many")
    copy.add_argument("--no-mark", action="store_true", help="without the header that says where a record came from")
    copy.add_argument("--watch", action="store_true", help="follow the job to its end")


def _copy(shell: Shell) -> None:
    o = shell.options
    asked = _asked(o)
    plan = shell.rest.change("POST", shell.at("record-copies", "plan"), asked)
    if shell.only_told(plan, _said(plan)):
        return
    shell.confirm(o.target, f"Records of {o.source} would be written to {o.target}.")
    job = shell.rest.change("POST", "/jobs", {"cluster": o.cluster, "kind": "record_copy", **asked})
    follow(shell, job)


def _asked(options: Any) -> dict[str, Any]:
    filters = {name: getattr(options, name) for name in FILTER if getattr(options, name)}
    asked = {
        "source": options.source,
        "target": options.target,
        "partitions": options.partition or None,
        "from_offset": options.from_offset,
        "to_offset": options.to_offset,
        "filter": {**filters, "regex": options.regex} if filters else None,
        "keep_partition": options.keep_partition,
        "mark": not options.no_mark,
    }
    return {name: value for name, value in asked.items() if value is not None}


def _said(plan: dict[str, Any]) -> str:
    notes = "\n".join(plain(note) for note in plan["notes"])
    return f"{table(RANGES, plan['partitions'], terminal_columns())}\n{say.number(plan['offsets'])} offsets are read.\n{notes}"
