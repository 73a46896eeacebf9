# PYTHON_ARGCOMPLETE_OK
"""The command `highwater`: its parser, and how it ends.

Exit status: 0 done, 1 refused or failed, 2 a command line that cannot be meant or a question that nobody answered, 3 nothing answers.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence

import argcomplete

from broker_core.cli.main import add, new_parser
from broker_core.errors import HighwaterError
from cli.commands import (
    alerts,
    brokers,
    clusters,
    completion,
    configs,
    copies,
    groups,
    jobs,
    moves,
    records,
    schedules,
    settings,
    topics,
    transactions,
    wanted,
)
from cli.errors import REFUSED, USAGE, Stopped
from cli.table import plain

INTERRUPTED, NOBODY_READS = 130, 141
ASKING_REST = (
    *(topics, groups, transactions, brokers, clusters, configs, wanted),
    *(jobs, moves, schedules, alerts, records, copies, settings, completion),
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = new()
    argcomplete.autocomplete(parser)
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options) or 0)
    except Stopped as error:
        _tell(str(error) if not (getattr(options, "json", False) and error.problem) else json.dumps(error.problem))
        return error.status
    except HighwaterError as error:
        _tell(str(error))
        return REFUSED
    except EOFError:
        _tell("Not confirmed: nothing was done.")
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOBODY_READS


def new() -> ArgumentParser:
    parser, commands = new_parser()
    parser.epilog = "Exit status: 0 done, 1 refused or failed, 2 wrong usage or not confirmed, 3 nothing answers."
    add(commands)
    for module in ASKING_REST:
        module.add(commands)
    return parser


def _tell(text: str) -> None:
    first, *rest = text.splitlines() or [""]
    print("\n".join([first if first.startswith("{") else f"highwater: {plain(first)}", *map(plain, rest)]), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
