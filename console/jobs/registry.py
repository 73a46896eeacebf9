"""All kinds of jobs by name, as found in the files of this package."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from console.errors import Invalid
from console.jobs.kind import JobKind


def _declared() -> Iterator[JobKind]:
    for module in pkgutil.iter_modules(importlib.import_module("console.jobs").__path__, "console.jobs."):
        if module.name != __name__:
            found = vars(importlib.import_module(module.name)).values()
            yield from (kind() for kind in found if isinstance(kind, type) and issubclass(kind, JobKind) and kind.__module__ == module.name)


KINDS = {kind.name: kind for kind in _declared() if kind.name}
ON_REQUEST = {name: kind for name, kind in KINDS.items() if kind.on_request}


def asked_for(name: str) -> JobKind:
    """The kind of this name, of those that may be asked for."""
    if name not in ON_REQUEST:
        raise Invalid("kind", f"A job is one of {', '.join(ON_REQUEST)}.")
    return ON_REQUEST[name]
