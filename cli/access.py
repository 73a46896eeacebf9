"""Where the console is and with which token it is asked.

    address   --url, else HIGHWATER_URL, else the local system's, by its data folder
    token     HIGHWATER_TOKEN, else the file that HIGHWATER_TOKEN_FILE names, else the data folder's `secrets/command-token`

The folder's token goes to the local system alone. Whoever can write the data folder is master of the local system anyhow, so that a
token is made for him where there is none; `highwater token create NAME --role ROLE --save` puts another in its place.
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from broker_core.cli.tokens import make_token, saved_token
from broker_core.errors import HighwaterError
from broker_core.local.layout import MARKER, Layout
from cli.errors import Stopped, Usage
from cli.rest import Rest


class Access(NamedTuple):
    """`source` says where the token comes from."""

    url: str
    token: str
    source: str

    def rest(self, timeout_s: float = 60.0) -> Rest:
        return Rest(self.url, self.token, timeout_s)


def find(data: Path, url: str | None, environment: Mapping[str, str] = os.environ, *, may_make: bool = True) -> Access:
    """`Usage` says what to set where there is no address or token."""
    layout = Layout.from_environment(data, environment) if (data / MARKER).exists() else None
    wanted = url or environment.get("HIGHWATER_URL") or (layout and layout.console_url) or ""
    if not wanted:
        raise Usage(f"Where is the console? There is no data folder at {data}: give --data, or set HIGHWATER_URL and HIGHWATER_TOKEN.")
    token, source = _given(environment)
    if token:
        return Access(wanted, token, source)
    if layout is None or wanted.rstrip("/") != layout.console_url.rstrip("/"):
        raise Usage(f"No token for {wanted}: set HIGHWATER_TOKEN or HIGHWATER_TOKEN_FILE.")
    return Access(wanted, _of_folder(layout, may_make=may_make), f"{layout.root}/secrets")


def _given(environment: Mapping[str, str]) -> tuple[str, str]:
    if token := environment.get("HIGHWATER_TOKEN", "").strip():
        return _sound(token, "HIGHWATER_TOKEN"), "HIGHWATER_TOKEN"
    name = environment.get("HIGHWATER_TOKEN_FILE", "")
    if not name:
        return "", ""
    try:
        return _sound(Path(name).read_text(encoding="utf-8").strip(), name), name
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"HIGHWATER_TOKEN_FILE={name} cannot be read: {error}.") from None


def _sound(token: str, where: str) -> str:
    if not re.fullmatch(r"[\x21-\x7e]{1,500}", token):
        raise Usage(f"{where} holds no token.")
    return token


def _of_folder(layout: Layout, *, may_make: bool) -> str:
    try:
        if token := saved_token(layout):
            return token
    except PermissionError as error:
        raise Usage(f"The local system's token cannot be read ({error}): set HIGHWATER_TOKEN.") from None
    if not may_make:
        raise Usage("There is no token yet.")
    try:
        return make_token(layout, f"shell-{_user()}", "admin", None, save=True).token
    except HighwaterError as error:
        raise Stopped(f"No token could be made: {error}") from None


def _user() -> str:
    try:
        return re.sub(r"[^A-Za-z0-9_.-]", "_", getpass.getuser())[:60] or "somebody"
    except (OSError, KeyError):
        return "somebody"
