"""A download is whole and right, or nothing and a sentence: against a real server that misbehaves in every way that servers do."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from broker_core.local import maven
from broker_core.local.download import DownloadError, Limits, download
from tests.support.ports import free_ports

BODY = bytes(range(256)) * 1024
SHA256 = hashlib.sha256(BODY).hexdigest()


class Server(ThreadingHTTPServer):
    """Answers each path by a function of the test's; `asked` are the paths in the order of asking."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, Callable[[Handler], None]] = {}
        self.asked: list[str] = []
        self.over = threading.Event()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.server.answers.get(self.path, missing)(self)

    def begin(self, length: int | None, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def missing(handler: Handler) -> None:
    handler.begin(0, 404)


def whole(handler: Handler) -> None:
    handler.begin(len(BODY))
    handler.wfile.write(BODY)


def cut(handler: Handler) -> None:
    handler.begin(len(BODY))
    handler.wfile.write(BODY[:1000])


def endless(handler: Handler) -> None:
    handler.begin(None)
    while not handler.server.over.is_set():
        handler.wfile.write(BODY)


def silent(handler: Handler) -> None:
    handler.begin(len(BODY))
    handler.wfile.write(BODY[:1000])
    handler.server.over.wait(60)


def dripping(handler: Handler) -> None:
    handler.begin(len(BODY))
    while not handler.server.over.wait(0.02):
        handler.wfile.write(b"x")


def elsewhere(handler: Handler) -> None:
    handler.begin(0, 302, Location="/whole")


def circle(handler: Handler) -> None:
    handler.begin(0, 302, Location=handler.path)


def to_a_file(handler: Handler) -> None:
    handler.begin(0, 302, Location="file:///etc/passwd")


def broken(handler: Handler) -> None:
    handler.begin(0, 503)


def no_http(handler: Handler) -> None:
    handler.wfile.write(b"220 mail.example.org ESMTP\r\n")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as started:
        thread = threading.Thread(target=started.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield started
        started.over.set()
        started.shutdown()
        thread.join()


@pytest.mark.parametrize("answer", [whole, elsewhere])
def test_what_has_the_checksum_is_put_in_its_place(server: Server, tmp_path: Path, answer: Callable[[Handler], None]) -> None:
    server.answers = {"/jar": answer, "/whole": whole}
    target = tmp_path / "a.jar"
    target.write_bytes(b"an old one")
    download(server.url("/jar"), target, SHA256)
    assert target.read_bytes() == BODY
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("answer", "words", "tries"),
    [
        (missing, "answered 404 Not Found", 1),
        (broken, "answered 503", 2),
        (cut, f"broke off after 1000 of {len(BODY)} bytes", 2),
        (endless, "gave more than 1000000 bytes", 1),
        (silent, "timed out", 2),
        (dripping, "took longer than 3 s", 1),
        (circle, "302", 1),
        (to_a_file, "302", 1),
        (no_http, "could not be read", 2),
    ],
)
def test_what_goes_wrong_is_told_and_leaves_nothing(
    server: Server, tmp_path: Path, answer: Callable[[Handler], None], words: str, tries: int
) -> None:
    server.answers = {"/jar": answer}
    limits = Limits(silence_seconds=0.5, seconds=3.0 if answer is dripping else 60.0, most_bytes=1_000_000, tries=2)
    with pytest.raises(DownloadError, match=words) as told:
        download(server.url("/jar"), tmp_path / "a.jar", SHA256, limits)
    assert server.url("/jar") in str(told.value)
    assert list(tmp_path.iterdir()) == []
    if answer is not circle:
        assert len(server.asked) == tries


def test_another_checksum_is_not_taken_and_what_was_there_stays(server: Server, tmp_path: Path) -> None:
    server.answers = {"/jar": whole}
    target = tmp_path / "a.jar"
    target.write_bytes(b"an old one")
    with pytest.raises(DownloadError, match="another checksum"):
        download(server.url("/jar"), target, "0" * 64)
    assert target.read_bytes() == b"an old one"
    assert list(tmp_path.iterdir()) == [target]


def test_a_connection_that_was_cut_is_made_again(server: Server, tmp_path: Path) -> None:
    def cut_once(handler: Handler) -> None:
        (cut if len(server.asked) == 1 else whole)(handler)

    server.answers = {"/jar": cut_once}
    download(server.url("/jar"), tmp_path / "a.jar", SHA256)
    assert (tmp_path / "a.jar").read_bytes() == BODY


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/jar", "jar", "http://[/jar", "http:///jar"])
def test_only_addresses_of_the_web_are_asked(tmp_path: Path, url: str) -> None:
    with pytest.raises(DownloadError, match="is not an address of http or https"):
        download(url, tmp_path / "a.jar", SHA256)


def test_a_password_in_the_address_is_for_that_server_only(server: Server, tmp_path: Path) -> None:
    told: list[str | None] = []

    def asks(handler: Handler) -> None:
        told.append(handler.headers["Authorization"])
        (elsewhere if handler.path == "/jar" else whole)(handler)

    server.answers = {"/jar": asks, "/whole": asks}
    download(server.url("/jar").replace("//", "//na%40me:secret@"), tmp_path / "a.jar", SHA256)
    assert told == ["Basic " + base64.b64encode(b"na@me:secret").decode(), None]


def test_nobody_there_and_no_folder_are_told_without_the_password(tmp_path: Path) -> None:
    port = free_ports()
    with pytest.raises(DownloadError, match=rf"http://127\.0\.0\.1:{port}/jar could not be read: .*refused") as told:
        download(f"http://name:secret@127.0.0.1:{port}/jar", tmp_path / "a.jar", SHA256)
    assert "secret" not in str(told.value)
    with pytest.raises(DownloadError, match="could not be written: No such file"):
        download(f"http://127.0.0.1:{port}/jar", tmp_path / "nothing" / "a.jar", SHA256)


def test_the_next_try_goes_on_with_what_is_missing(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(maven.URL_VARIABLE, server.url("/maven2/"))
    monkeypatch.setattr(maven, "_run", lambda command, environment: None)
    jars = maven.PinnedJars({f"org.example.group:part-{n}:1.{n}": SHA256 for n in range(3)}, tmp_path / "jars", "make setup")
    paths = [f"/maven2/org/example/group/part-{n}/1.{n}/part-{n}-1.{n}.jar" for n in range(3)]
    server.answers = dict.fromkeys(paths[:2], whole)
    with pytest.raises(maven.JarsMissing, match=r"part-2-1\.2\.jar is missing: run make setup .*part-2-1\.2\.jar answered 404"):
        jars.fetch()
    assert sorted(server.asked) == paths
    server.answers[paths[2]] = whole
    jars.fetch()
    assert sorted(server.asked) == [*paths, paths[2]]
    assert [path.read_bytes() for path in jars.paths()] == [BODY] * 3


@pytest.mark.parametrize(
    ("mirrors", "expected"),
    [
        ("<mirror><mirrorOf>*</mirrorOf><url>https://a.example/m</url></mirror>", "https://a.example/m"),
        ("<mirror><mirrorOf>external:*,!own</mirrorOf><url> https://a.example/m </url></mirror>", "https://a.example/m"),
        ("<mirror><mirrorOf>own, central</mirrorOf><url>https://a.example/m</url></mirror>", "https://a.example/m"),
        ("<mirror><mirrorOf>*,!central</mirrorOf><url>https://a.example/m</url></mirror>", None),
        ("<mirror><mirrorOf>external:http:*</mirrorOf><url>http://0.0.0.0/</url><blocked>true</blocked></mirror>", None),
        ("<mirror><mirrorOf>*</mirrorOf></mirror>", None),
        ("<mirror>", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("namespace", ["", ' xmlns="http://maven.apache.org/SETTINGS/1.0.0"'])
def test_the_mirror_is_that_of_mavens_settings(tmp_path: Path, mirrors: str, expected: str | None, namespace: str) -> None:
    settings = tmp_path / "settings.xml"
    settings.write_text(f"<settings{namespace}><mirrors>{mirrors}</mirrors></settings>")
    assert maven.mirror(settings) == expected


def test_who_names_no_mirror_asks_maven_central(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(maven.URL_VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert maven.repository() == maven.CENTRAL
    monkeypatch.setenv(maven.URL_VARIABLE, "https://b.example/maven/")
    assert maven.repository() == "https://b.example/maven"
