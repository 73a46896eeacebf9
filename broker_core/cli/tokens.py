"""`highwater token create`: makes an API token by the console's own command, and keeps one for the commands of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

from broker_core.cli import system
from broker_core.errors import HighwaterError
from broker_core.local.layout import Layout

FILE = "command-token"


class NotMade(HighwaterError):
    """The console's command refused; the message is its own."""


class Made(Struct, frozen=True):
    """`words` is all that was printed, the token last."""

    token: str
    words: str


def make_token(layout: Layout, name: str, role: str, days: int | None, *, save: bool) -> Made:
    """`save`: the commands of whoever may read the data folder use it."""
    command = [sys.executable, "manage.py", "token_create", name, "--role", role, *([] if days is None else ["--days", str(days)])]
    done = subprocess.run(command, cwd=system.ROOT, env=system.environment(layout), capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise NotMade((done.stderr.strip() or done.stdout.strip()).removeprefix("CommandError: "))
    words = done.stdout.strip()
    made = Made(words.splitlines()[-1], words)
    if save:
        _write(token_file(layout), made.token)
    return made


def token_file(layout: Layout) -> Path:
    return layout.root / "secrets" / FILE


def saved_token(layout: Layout) -> str:
    """Empty where none was saved."""
    try:
        return token_file(layout).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""


def _write(path: Path, token: str) -> None:
    """In one step, readable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(token + "\n")
    new.replace(path)
