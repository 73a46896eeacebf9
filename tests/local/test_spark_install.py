"""Spark's installation: what its file and lock mean, and the installer with the real pip against a small index of our own."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from broker_core.contract.installs import Install
from broker_core.local import spark_install, spark_installer
from broker_core.local.process import wait_until
from broker_core.local.spark_install import Noted, judge

BEGUN = Install(state="installing", since_ms=1_000)
HALF = Install(state="installing", since_ms=1_000, done_bytes=120, total_bytes=434)
NAME = "pyspark-4.0.0-py3-none-any.whl"


def wheel() -> bytes:
    """A PySpark of two megabytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("pyspark/__init__.py", "")
        archive.writestr("pyspark/jars/big.jar", bytes(2_000_000))
        archive.writestr("pyspark-4.0.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: pyspark\nVersion: 4.0.0\n")
        archive.writestr("pyspark-4.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("pyspark-4.0.0.dist-info/RECORD", "")
    return file.getvalue()


WHEEL = wheel()


class Index(ThreadingHTTPServer):
    """One project with one file, whose second half comes when `go_on` is set."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), IndexHandler)
        self.go_on = threading.Event()


class IndexHandler(BaseHTTPRequestHandler):
    server: Index

    def do_GET(self) -> None:
        if not self.path.endswith(".whl"):
            return self._answer(f'<a href="/{NAME}">{NAME}</a>'.encode(), "text/html")
        self._answer(WHEEL[:1_000_000], "application/octet-stream", len(WHEEL))
        self.server.go_on.wait(300)
        self.wfile.write(WHEEL[1_000_000:])

    def _answer(self, body: bytes, kind: str, length: int | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Index() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.go_on.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, index: Index) -> Path:
    """Where the real pip installs to, from the index, by the hash of its wheel; notes and lock are there too."""
    requirements = tmp_path / "requirements-spark.lock"
    requirements.write_text(f"pyspark==4.0.0 --hash=sha256:{hashlib.sha256(WHEEL).hexdigest()}\n")
    options = (
        "--no-cache-dir",
        "--timeout",
        "300",
        "--index-url",
        f"http://127.0.0.1:{index.server_address[1]}/simple/",
        "--target",
        str(tmp_path / "site"),
    )
    monkeypatch.setattr(spark_install, "REQUIREMENTS", requirements)
    monkeypatch.setattr(spark_install, "folder", lambda: tmp_path)
    monkeypatch.setattr(spark_installer, "PIP", (*spark_installer.PIP, "--isolated", *options))
    monkeypatch.setattr(spark_installer, "JARS", ("-c", "print('4 jars')"))
    monkeypatch.setattr(spark_installer, "LOOK_SECONDS", 0.1)
    return tmp_path


def install() -> int:
    lock = spark_install.take_lock()
    assert lock is not None
    try:
        return spark_installer._install(BEGUN, lock)
    finally:
        os.close(lock)


def noted() -> Install:
    said = spark_install.noted()
    return said.install if said else Install(state="absent")


@pytest.mark.parametrize(
    ("last", "alive", "found", "state"),
    [
        (None, False, False, "absent"),
        (None, False, True, "ready"),
        (None, True, False, "installing"),
        (Noted("a", HALF), True, True, "installing"),
        (Noted("a", Install(state="failed", why="x")), True, False, "installing"),
        (Noted("a", HALF), False, True, "failed"),
        (Noted("a", Install(state="failed", why="x")), False, False, "failed"),
        (Noted("a", Install(state="ready")), False, True, "ready"),
        (Noted("a", Install(state="ready")), False, False, "absent"),
        (Noted("of another day", Install(state="ready")), False, True, "absent"),
        (Noted("of another day", Install(state="ready")), True, True, "installing"),
    ],
)
def test_what_file_lock_and_package_mean_together(last: Noted | None, alive: bool, found: bool, state: str) -> None:
    assert judge(last, alive=alive, found=found, wanted="a").state == state


def test_how_far_it_was_is_kept() -> None:
    assert judge(Noted("a", HALF), alive=True, found=False, wanted="a") == HALF
    cut = judge(Noted("a", HALF), alive=False, found=False, wanted="a")
    assert (cut.why, cut.since_ms) == ("the installation was interrupted", 1_000)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"wanted": 1}', '{"wanted": "a", "install": {"state": "done"}}'])
def test_a_file_that_says_nothing_is_none(place: Path, text: str) -> None:
    (place / "spark.json").write_text(text)
    assert spark_install.noted() is None


def test_how_far_it_is_may_be_asked_while_pip_tidies_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of pip's is gone between being listed and being looked into."""
    for name in ("pip-gone", "pip-unpack", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pyspark-4.tar.gz").write_bytes(b"x" * len(name))
    look = Path.glob

    def glob(path: Path, pattern: str) -> Iterator[Path]:
        if path.name == "pip-gone":
            raise FileNotFoundError(path)
        return look(path, pattern)

    monkeypatch.setattr(Path, "glob", glob)
    assert spark_installer._downloaded(tmp_path) == len("pip-unpack")


def test_it_is_installed_and_says_how_far_it_is(place: Path, index: Index) -> None:
    codes: list[int] = []
    runs = threading.Thread(target=lambda: codes.append(install()))
    runs.start()
    try:
        assert wait_until(lambda: noted().done_bytes >= 900_000, 200), noted()
        assert (noted().total_bytes, spark_install.status().state) == (2_000_000, "installing")
        assert spark_install.take_lock() is None, "nobody else installs meanwhile"
    finally:
        index.go_on.set()
        runs.join()
    assert codes == [0]
    assert (place / "site" / "pyspark" / "jars" / "big.jar").exists()
    assert noted().state == "ready"
    assert not list(place.glob(f"{spark_installer.SCRATCH}*"))


def test_bytes_with_another_hash_are_not_installed(place: Path, index: Index, capfd: pytest.CaptureFixture[str]) -> None:
    index.go_on.set()
    spark_install.REQUIREMENTS.write_text(f"pyspark==4.0.0 --hash=sha256:{'0' * 64}\n")
    assert install() == 1
    assert not (place / "site").exists()
    assert noted().state == "failed"
    assert "DO NOT MATCH THE HASHES" in noted().why
    assert spark_install.status().state == "failed"
    assert "could not be installed" in capfd.readouterr().err


def test_jars_that_cannot_be_had_are_the_reason(place: Path, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.go_on.set()
    monkeypatch.setattr(spark_installer, "JARS", ("-c", "print('x.jar is missing'); raise SystemExit(1)"))
    assert install() == 1
    assert (noted().state, noted().step, noted().why) == ("failed", "jars", "x.jar is missing")
    monkeypatch.setattr(spark_installer, "JARS", ("-c", "pass"))
    assert install() == 0
    assert noted().state == "ready"


def test_who_is_told_to_end_ends_pip_too_and_the_next_goes_on(place: Path, index: Index) -> None:
    program = f"""
        import sys
        from pathlib import Path
        from broker_core.local import spark_install, spark_installer
        spark_install.REQUIREMENTS = Path({str(spark_install.REQUIREMENTS)!r})
        spark_install.folder = lambda: Path({str(place)!r})
        spark_installer.PIP = {spark_installer.PIP!r}
        spark_installer.LOOK_SECONDS = 0.1
        sys.exit(spark_installer.main())
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)]) as process:
        assert wait_until(lambda: noted().done_bytes >= 900_000, 200)
        (scratch,) = place.glob(f"{spark_installer.SCRATCH}*")
        process.send_signal(signal.SIGTERM)
        assert process.wait(200) == 128 + signal.SIGTERM
    assert spark_install.status().why == "the installation was interrupted", "and the lock is free: pip has ended"
    assert not scratch.exists()
    index.go_on.set()
    assert install() == 0


def test_what_a_killed_one_left_is_taken_away(place: Path, index: Index) -> None:
    index.go_on.set()
    left = place / f"{spark_installer.SCRATCH}old"
    left.mkdir()
    (left / "half.tar.gz").write_bytes(b"x")
    assert install() == 0
    assert not left.exists()


@pytest.mark.parametrize(
    ("line", "total"),
    [
        ("  Downloading pyspark-4.0.0.tar.gz (434.1 MB)", 434_100_000),
        ("  Using cached https://mirror.example/pypi/pyspark-4.0.0.tar.gz (434.1 MB)", 434_100_000),
        ("  Downloading py4j-0.10.9.9-py2.py3-none-any.whl (203 kB)", 0),
        ("Collecting pyspark==4.0.0", 0),
    ],
)
def test_the_size_is_the_one_that_pip_names(line: str, total: int) -> None:
    found = spark_installer.progress(BEGUN, ["Collecting x", line], 120)
    assert (found.total_bytes, found.done_bytes) == (total, min(total, 120))


def test_last_words_are_the_errors_or_the_last_line() -> None:
    assert spark_installer.last_words(["a", "ERROR: no space left", "hint"]) == "no space left"
    assert spark_installer.last_words(["a", "b", ""]) == "b"
    assert spark_installer.last_words([]) == "it said nothing"
