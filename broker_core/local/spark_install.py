"""How far Spark's installation is: a small file beside the packages, and a lock that lives as long as who installs.

::

    share/highwater/spark.json   what the installer said last: `Noted`
    share/highwater/spark.lock   held while it, or the pip that it has started, lives

The file alone proves nothing: who wrote "installing" may be dead, and "ready" is about the requirements of that day.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from pathlib import Path

import msgspec

from broker_core.contract.installs import Install
from broker_core.local import process
from broker_core.local.maven import shared_folder

REQUIREMENTS = Path(__file__).resolve().parent.parent.parent / "requirements-spark.lock"


class Noted(msgspec.Struct, frozen=True):
    """`wanted` is the digest of the requirements that it was about."""

    wanted: str
    install: Install


def folder() -> Path:
    """Beside the installed packages."""
    return shared_folder("")


def wanted() -> str:
    """Names what should be installed; empty where nothing says so, as in an image that has it."""
    try:
        return hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    except OSError:
        return ""


def take_lock() -> int | None:
    """A descriptor that keeps everybody else from installing while it or a copy of it is open; None while somebody does."""
    folder().mkdir(parents=True, exist_ok=True)
    descriptor = os.open(_lock_path(), os.O_RDWR | os.O_CREAT, 0o600)
    if not process.take_lock(descriptor):
        os.close(descriptor)
        return None
    return descriptor


def note(said: Noted) -> None:
    """Atomically, for readers at any time."""
    new = folder() / f".spark.json.{os.getpid()}.part"
    new.write_bytes(msgspec.json.encode(said))
    new.replace(folder() / "spark.json")


def noted() -> Noted | None:
    """What was said last; None where nothing was, or it cannot be read."""
    try:
        return msgspec.json.decode((folder() / "spark.json").read_bytes(), type=Noted)
    except (OSError, msgspec.MsgspecError):
        return None


def status() -> Install:
    """As it is now."""
    alive = not process.lock_is_free(_lock_path())
    return judge(noted(), alive=alive, found=importlib.util.find_spec("pyspark") is not None, wanted=wanted())


def judge(last: Noted | None, *, alive: bool, found: bool, wanted: str) -> Install:
    """What the file, the lock and the package mean together. Pure. A package of which nothing was said came by other means."""
    if alive:
        return last.install if last and last.install.state == "installing" else Install(state="installing")
    if last is None or last.install.state == "ready":
        current = last is None or last.wanted == wanted
        return Install(state="ready" if found and current else "absent")
    why = last.install.why if last.install.state == "failed" else "the installation was interrupted"
    return msgspec.structs.replace(last.install, state="failed", why=why)


def _lock_path() -> Path:
    return folder() / "spark.lock"
