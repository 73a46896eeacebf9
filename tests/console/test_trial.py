"""The test of a registration against real listeners: what is wrong is said in words, in time."""

from __future__ import annotations

import http.server
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.gateway import trial
from console.gateway.connection import Connection
from console.gateway.trial import try_out
from tests.support.kafka_listener import Certificate, listening


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate(tmp_path_factory.mktemp("tls"), "127.0.0.1")


@pytest.fixture
def closed_port() -> Iterator[int]:
    """One that nobody else takes meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.fixture(params=[False, True], ids=["http", "https"])
def web_port(request: pytest.FixtureRequest, certificate: Certificate) -> Iterator[int]:
    class Quiet(http.server.BaseHTTPRequestHandler):
        timeout = 30

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    if request.param:
        server.socket = certificate.context().wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


def words(connection: Connection) -> str:
    found = try_out(connection)
    assert (found.ok, found.level) == (False, "bad")
    return found.sentence


def test_a_cluster_that_answers_is_told_of() -> None:
    with listening() as one:
        found = try_out(Connection(one.server))
    assert (found.ok, found.level, found.kafka_id, found.controller_id) == (True, "ok", "listener", 1)
    assert found.brokers == {1: one.server}
    assert found.sentence == f"1 of 1 bootstrap server answers; the cluster has 1 broker and speaks Kafka {found.versions}."


def test_nobody_listens(closed_port: int) -> None:
    assert words(Connection(f"127.0.0.1:{closed_port}")) == f"127.0.0.1:{closed_port} refuses connections: nothing listens on this port."


def test_a_name_that_leads_nowhere() -> None:
    assert "has a name that leads nowhere" in words(Connection("nowhere.invalid:9092"))


def test_some_servers_answer_and_it_is_said_which_do_not(closed_port: int) -> None:
    with listening() as one:
        found = try_out(Connection(f"{one.server},127.0.0.1:{closed_port}"))
    assert (found.ok, found.level) == (True, "warn")
    assert [(row.server, row.answers) for row in found.servers] == [(one.server, True), (f"127.0.0.1:{closed_port}", False)]
    assert found.remarks == [f"127.0.0.1:{closed_port} refuses connections: nothing listens on this port."]


def test_a_web_server_is_none(web_port: int, request: pytest.FixtureRequest) -> None:
    said = words(Connection(f"127.0.0.1:{web_port}"))
    assert ("is a web server" if "[http]" in request.node.name else "speaks TLS") in said


def test_tls_on_a_plain_port() -> None:
    with listening() as one:
        assert "speaks Kafka without TLS: choose PLAINTEXT" in words(Connection(one.server, "SSL"))


def test_plain_on_a_tls_port(certificate: Certificate) -> None:
    with listening(tls=certificate.context()) as one:
        assert "speaks TLS: choose SSL or SASL_SSL" in words(Connection(one.server))


def test_a_certificate_that_nobody_trusts(certificate: Certificate) -> None:
    with listening(tls=certificate.context()) as one:
        assert "a certificate that is not trusted (self-signed certificate)" in words(Connection(one.server, "SSL"))
        assert try_out(Connection(one.server, "SSL", ca_pem=certificate.pem)).ok


def test_a_certificate_for_another_name(tmp_path: Path) -> None:
    other = Certificate(tmp_path, "kafka.example.org")
    with listening(tls=other.context()) as one:
        asked = Connection(one.server, "SSL", ca_pem=other.pem)
        assert "for another name than 127.0.0.1" in words(asked)
        assert try_out(Connection(one.server, "SSL", ca_pem=other.pem, check_hostname=False)).ok


def test_a_server_that_wants_a_certificate_of_the_client(certificate: Certificate, tmp_path: Path) -> None:
    context = certificate.context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=certificate.pem)
    with listening(tls=context) as one:
        assert "it probably wants a certificate of the client" in words(Connection(one.server, "SSL", ca_pem=certificate.pem))
        own = Connection(one.server, "SSL", ca_pem=certificate.pem, certificate_pem=certificate.pem, key_pem=certificate.key_pem)
        assert try_out(own).ok


def test_passwords(certificate: Certificate) -> None:
    with listening(users={"ann": "right"}) as one:
        assert try_out(Connection(one.server, "SASL_PLAINTEXT", "PLAIN", "ann", "right")).ok
        said = words(Connection(one.server, "SASL_PLAINTEXT", "PLAIN", "ann", "wr0ng"))
        assert said == f"{one.server} refuses the user 'ann' with this password (Invalid credentials)."
        assert "it takes PLAIN" in words(Connection(one.server, "SASL_PLAINTEXT", "SCRAM-SHA-256", "ann", "right"))
        assert "wants a user and a password: choose SASL_PLAINTEXT with PLAIN" in words(Connection(one.server))
    with listening() as one:
        said = words(Connection(one.server, "SASL_PLAINTEXT", "PLAIN", "ann", "right"))
        assert "asks for no user and password: choose PLAINTEXT" in said
    with listening(users={"ann": "right"}, tls=certificate.context()) as one:
        assert try_out(Connection(one.server, "SASL_SSL", "PLAIN", "ann", "right", certificate.pem)).ok


def test_servers_of_two_clusters_are_no_cluster() -> None:
    with listening(kafka_id="a") as one, listening(kafka_id="b") as other:
        found = try_out(Connection(f"{one.server},{other.server}"))
    assert not found.ok
    assert found.remarks[0] == f"The servers belong to 2 clusters ({one.server}: a; {other.server}: b): name those of one."


def test_another_cluster_than_before() -> None:
    with listening(kafka_id="new") as one:
        found = try_out(Connection(one.server), "old")
    assert (found.ok, found.level, found.kafka_id) == (True, "warn", "new")
    assert found.remarks == ["This is another cluster than before: it calls itself new, and was old."]


def test_an_address_that_brokers_advertise_and_nobody_reaches(closed_port: int) -> None:
    with listening() as one:
        one.brokers = {1: ("127.0.0.1", one.port), 2: ("127.0.0.1", closed_port)}
        found = try_out(Connection(one.server))
        assert (found.ok, found.level) == (True, "warn")
        assert found.remarks == [f"Broker 2 says that it is at 127.0.0.1:{closed_port}, which is not reached from here."]
        one.brokers = {2: ("127.0.0.1", closed_port)}
        assert not try_out(Connection(one.server)).ok


@pytest.mark.parametrize(
    "answer", [b"", b"\0\0\0\4\0\0\0\1", b"\x7f\xff\xff\xff", b"\0\0\0\x08\0\0\0\1\0\0\x7f\xff", b"\x15\x03\x01\0\2\2\x28"]
)
def test_senseless_answers_end_in_words(answer: bytes) -> None:
    """And silence does, in time."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        ended = threading.Event()

        def serve() -> None:
            held = []
            while not ended.is_set():
                found, _ = server.accept()
                held.append(found)
                if answer:
                    found.sendall(answer)
            for found in held:
                found.close()

        thread = threading.Thread(target=serve)
        thread.start()
        began = time.monotonic()
        said = words(Connection(f"127.0.0.1:{server.getsockname()[1]}"))
        took_s = time.monotonic() - began
        ended.set()
        socket.create_connection(server.getsockname()).close()
        thread.join()
    assert "listens and does not answer as Kafka does" in said or "does not answer in time" in said
    assert took_s < trial.TRIAL_S + 1
