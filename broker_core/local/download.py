"""One file over HTTP by its checksum: bounded in bytes and time, and in its place only when it is whole.

What comes is written beside the target as `.NAME.PID.part`, compared with the SHA-256, then renamed: whoever looks finds the right
file or none. Proxies and certificates are found as Python finds them (`HTTPS_PROXY`, `SSL_CERT_FILE`).
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import os
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from broker_core.errors import HighwaterError

CHUNK_BYTES = 64 * 1024
AGENT = "highwater"


class Limits(Struct, frozen=True):
    """How long a silence, how long the whole and how many bytes are borne, and how often a broken connection is tried again."""

    silence_seconds: float = 15.0
    seconds: float = 180.0
    most_bytes: int = 64 * 1024 * 1024
    tries: int = 3


class DownloadError(HighwaterError):
    """The file could not be had; the message names the address and what was wrong."""


class _Broken(DownloadError):
    """The connection was not made or did not last: the next try may do better."""


def download(url: str, target: Path, sha256: str, limits: Limits = Limits()) -> None:  # noqa: B008 - frozen
    """Puts the file at `url` (http or https, redirects followed) to `target`; `DownloadError` leaves nothing behind."""
    if not _is_web(url):
        raise DownloadError(f"{url!r} is not an address of http or https")
    deadline = time.monotonic() + limits.seconds
    for left in reversed(range(limits.tries)):
        try:
            return _once(url, target, sha256, limits, deadline)
        except _Broken:
            if not left or time.monotonic() >= deadline:
                raise


def shown(url: str) -> str:
    """The address without a name and password that it may hold."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _is_web(url: str) -> bool:
    try:
        return urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).hostname)
    except ValueError:
        return False


def _once(url: str, target: Path, sha256: str, limits: Limits, deadline: float) -> None:
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            digest = _receive(url, file, limits, deadline)
        if digest != sha256:
            raise DownloadError(f"{shown(url)} gave a file with another checksum than the pinned one")
        part.replace(target)
    except OSError as error:
        raise DownloadError(f"{target} could not be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)


def _receive(url: str, file: BinaryIO, limits: Limits, deadline: float) -> str:
    """Writes what is answered; gives its SHA-256."""
    try:
        with urllib.request.urlopen(_request(url), timeout=limits.silence_seconds) as response:
            return _copy(url, response, file, limits, deadline)
    except urllib.error.HTTPError as error:
        error.close()
        kind = _Broken if error.code >= 500 else DownloadError
        raise kind(f"{shown(url)} answered {error.code} {error.reason}") from error
    except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise _Broken(f"{shown(url)} could not be read: {reason}") from error


def _request(url: str) -> urllib.request.Request:
    """A name and password in the address are told to that server, and to none that it sends us on to."""
    parts = urlsplit(url)
    request = urllib.request.Request(shown(url), headers={"User-Agent": AGENT})
    if parts.username is not None:
        both = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        request.add_unredirected_header("Authorization", f"Basic {base64.b64encode(both.encode()).decode()}")
    return request


def _copy(url: str, response: http.client.HTTPResponse, file: BinaryIO, limits: Limits, deadline: float) -> str:
    digest, had, told = hashlib.sha256(), 0, response.length
    while chunk := response.read1(CHUNK_BYTES):
        had += len(chunk)
        if had > limits.most_bytes:
            raise DownloadError(f"{shown(url)} gave more than {limits.most_bytes} bytes")
        if time.monotonic() > deadline:
            raise DownloadError(f"{shown(url)} took longer than {limits.seconds:.0f} s; {had} bytes had come")
        digest.update(chunk)
        file.write(chunk)
    if told is not None and had < told:
        raise _Broken(f"{shown(url)} broke off after {had} of {told} bytes")
    return digest.hexdigest()
