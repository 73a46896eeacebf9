"""`highwater records export`: all that a search finds, written into a file by the reader and fetched; Ctrl-C stops the export itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from cli import figures as say
from cli.commands.searches import Following, add_filters, asked
from cli.errors import Stopped, Usage
from cli.shell import Shell, takes, verb

STARTS = ("oldest", "offset", "time")
STDOUT = "-"


def add_to(actions: Any) -> None:
    export = verb(actions, "export", _export, "all records of a topic, or those that fit, as a file; Ctrl-C stops the export")
    takes(export, "topic", "topic")
    export.add_argument("--output", metavar="FILE", required=True, help="where the file is put; -: on the standard output")
    export.add_argument("--as", dest="kind", choices=("ndjson", "csv"), default="ndjson", help="default: ndjson, a record a line")
    export.add_argument("--force", action="store_true", help="in place of a file that is there")
    export.add_argument("--start", choices=STARTS, default="oldest", help="default: oldest")
    add_filters(export)


def _export(shell: Shell) -> None:
    o = shell.options
    if o.output == STDOUT and o.json:
        raise Usage("--json tells of the export where its records would stand: give --output a file.")
    if o.output != STDOUT and Path(o.output).exists() and not o.force:
        raise Usage(f"{o.output} is there already: give another name, or --force to replace it.")
    state = shell.rest.change("POST", shell.at("topics", o.topic, "exports"), asked(o) | {"as": o.kind})
    exporting = Exporting(shell, state)
    exporting.to_its_end()
    if o.output == STDOUT:
        exporting.fetch(sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        _into(exporting, Path(o.output))
    if exporting.state["next"]:
        shell.say(f"It is as large as one file may be. What follows: the same with --at {exporting.state['next']}")
    if o.json:
        shell.show(exporting.state, "")


def _into(exporting: Exporting, path: Path) -> None:
    """Beside it first, so that under its name a file is whole."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            exporting.fetch(file)
        os.replace(part, path)
    except OSError as error:
        raise Stopped(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)


class Exporting(Following):
    def _take(self) -> None:
        """What is found goes into the file alone."""

    def told(self) -> str:
        return f"{self.state['sentence']} {say.size(self.state['file_bytes'])} written."

    def end(self) -> None:
        self._shell.say(f"{self.told()} {self.state['reason']}".strip())

    def fetch(self, file: Any) -> None:
        """The file as it was when the export ended; of nothing that was found there is none."""
        for piece in self._shell.rest.pieces(f"{self._path}/file") if self.state["file_bytes"] else ():
            file.write(piece)
