"""Names of topics, groups and clusters, as the shell's completion wants them: from REST, quickly or not at all."""

from __future__ import annotations

import argparse
from typing import Any

from broker_core.errors import HighwaterError
from cli.access import find
from cli.errors import Stopped
from cli.rest import Rest, named

SHOWN = 100
PATIENCE_S = 2.0


def topics(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    return _names(prefix, parsed_args, "topics", "topic")


def groups(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    return _names(prefix, parsed_args, "groups", "group")


def clusters(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    return _quietly(lambda rest: [row["id"] for row in rest.get("/clusters", limit=SHOWN)["items"]], prefix, parsed_args)


def _names(prefix: str, options: argparse.Namespace, noun: str, field: str) -> list[str]:
    path = named("clusters", options.cluster, noun)
    return _quietly(lambda rest: [row[field] for row in rest.get(path, limit=SHOWN, q=prefix)["items"]], prefix, options)


def _quietly(ask: Any, prefix: str, options: argparse.Namespace) -> list[str]:
    """Whoever presses Tab wants no error, and no token made."""
    try:
        rest: Rest = find(options.data, options.url, may_make=False).rest(PATIENCE_S)
        return [name for name in ask(rest) if name.startswith(prefix)]
    except (Stopped, HighwaterError, OSError):
        return []
