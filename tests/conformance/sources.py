"""A client's own tests as its project has published them: fetched by their commit, and kept in `build/` only."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from msgspec import Struct

from tests.bench.world import ROOT

BUILD = ROOT / "build" / "conformance"
FETCH_SECONDS = 600
INHERITED = ("PATH", "HOME", "LANG", "TMPDIR")
INHERITED_BEGINNINGS = ("PIP_", "GIT_", "SSL_", "REQUESTS_", "HTTP_", "HTTPS_", "NO_PROXY", "http", "no_proxy")


class NotHad(Exception):
    """A suite or a tool of it could not be had; the message says what and why."""


class Git(Struct, frozen=True):
    """A commit of a public repository: published archives leave the tests out. The commit's name is the checksum of all its files."""

    url: str
    version: str
    commit: str

    def unpack(self, folder: Path) -> None:
        """Puts the files there, anew; raises `NotHad`."""
        shutil.rmtree(folder, ignore_errors=True)
        run(["git", "clone", "-q", "--no-checkout", self.url, str(folder)], ROOT)
        run(["git", "checkout", "-q", "--detach", self.commit], folder)


def environment(**more: str) -> dict[str, str]:
    """Of ours only what finds programs and registries: a suite has packages and settings of its own."""
    kept = {name: value for name, value in os.environ.items() if name in INHERITED or name.startswith(INHERITED_BEGINNINGS)}
    return kept | more


def run(command: list[str], where: Path) -> str:
    """What the command printed; `NotHad` with the end of its errors where it failed."""
    try:
        done = subprocess.run(command, cwd=where, env=environment(), capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotHad(f"{command[0]}: {error}") from error
    if done.returncode:
        raise NotHad(f"{' '.join(command[:4])} …: {(done.stderr or done.stdout).strip()[-600:]}")
    return done.stdout
