"""One notice to one destination: a webhook, Slack's incoming webhook, or a mail by SMTP. Each is bounded in time as a whole."""

from __future__ import annotations

import smtplib
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from email.utils import formatdate
from typing import Any

import msgspec

from console.gateway.bounded_http import NotHad, post, refuse_own_link
from console.rules.alerts.notices import Notice, mail, signature, slack, webhook
from console.rules.report.mail import Mail

WITHIN_S = 10.0
"""Of a notice by HTTP as a whole, and of each answer of a mail server."""
MAIL_WITHIN_S = 30.0


class NotSent(Exception):
    """The words say what the other side does instead, without anything secret."""


def send_webhook(secrets: Mapping[str, str], notice: Notice, key: str, *, private: bool, within_s: float = WITHIN_S) -> None:
    """The key is a header, too: who gets a notice twice knows it by that."""
    body = msgspec.json.encode(webhook(notice, key))
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    if secrets.get("secret"):
        headers["X-Highwater-Signature"] = signature(secrets["secret"], body)
    _post(secrets["url"], headers, body, private=private, within_s=within_s)


def send_slack(secrets: Mapping[str, str], notice: Notice, *, private: bool, within_s: float = WITHIN_S) -> None:
    _post(secrets["url"], {"Content-Type": "application/json"}, msgspec.json.encode(slack(notice)), private=private, within_s=within_s)


def _post(url: str, headers: Mapping[str, str], body: bytes, *, private: bool, within_s: float) -> None:
    try:
        status = post(url, headers, body, within_s=within_s, public_only=not private)
    except NotHad as error:
        raise NotSent(f"The server {error}.") from None
    if 300 <= status < 400:
        raise NotSent(f"The server answers {status}, a redirect, which is not followed: give the address that it leads to.")
    if not 200 <= status < 300:
        raise NotSent(f"The server answers {status}.")


def send_notice_by_mail(settings: Mapping[str, Any], password: str, notice: Notice, key: str, within_s: float = MAIL_WITHIN_S) -> None:
    send_mail(settings, password, mail(notice), key, within_s)


def send_mail(settings: Mapping[str, Any], password: str, mail: Mail, key: str, within_s: float = MAIL_WITHIN_S) -> None:
    """`settings` are `host`, `port`, `security` (`tls`, `starttls`, `none`), `user`, `sender` and `to`, a list. The message's id is made of
    the key, so that one that is sent twice is told by it."""
    message = _message(settings, mail, key)
    refused: dict[str, Any] = {}
    try:
        with _server(settings, within_s) as server:
            if settings["security"] == "starttls":
                server.starttls(context=ssl.create_default_context())
            if settings["user"]:
                server.login(settings["user"], password)
            refused = server.send_message(message)
    except NotHad as error:
        raise NotSent(f"The mail server {error}.") from None
    except smtplib.SMTPAuthenticationError as error:
        raise NotSent(f"The mail server takes neither user nor password ({error.smtp_code}).") from None
    except smtplib.SMTPRecipientsRefused:
        raise NotSent("The mail server takes none of the recipients.") from None
    except smtplib.SMTPResponseException as error:
        raise NotSent(f"The mail server answers {error.smtp_code}.") from None
    except ssl.SSLError as error:
        raise NotSent(f"The mail server cannot be spoken to by TLS: {error.reason or 'the handshake failed'}.") from None
    except socket.gaierror:
        raise NotSent("The mail server has a name that no address is known of.") from None
    except (smtplib.SMTPException, OSError) as error:
        raise NotSent(f"The mail server does not take it: {getattr(error, 'strerror', None) or type(error).__name__}.") from None
    if refused:
        raise NotSent(f"The mail server does not take {len(refused)} of the recipients.")


def _message(settings: Mapping[str, Any], mail: Mail, key: str) -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = mail.subject, settings["sender"], ", ".join(settings["to"])
    message["Date"], message["Message-ID"] = formatdate(), f"<{key}@highwater>"
    message.set_content(mail.text)
    if mail.html:
        message.add_alternative(mail.html, subtype="html")
    return message


class _Checked(smtplib.SMTP):
    """Connects to the address that was looked at; TLS still asks for the name."""

    def _get_socket(self, host: str, port: int, timeout: Any) -> socket.socket:
        address = str(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0])
        refuse_own_link(address)
        return socket.create_connection((address, port), timeout)


class _CheckedTls(_Checked):
    def _get_socket(self, host: str, port: int, timeout: Any) -> socket.socket:
        return ssl.create_default_context().wrap_socket(super()._get_socket(host, port, timeout), server_hostname=host)


@contextmanager
def _server(settings: Mapping[str, Any], within_s: float) -> Iterator[smtplib.SMTP]:
    """`NotHad` where it does not answer in time. A timeout begins anew with every byte: a server that drips them is cut off by a timer."""
    each_s = min(within_s, WITHIN_S)
    server = (_CheckedTls if settings["security"] == "tls" else _Checked)(timeout=each_s)
    server._host = settings["host"]  # type: ignore[attr-defined]  # what `starttls` checks the certificate for
    is_over = threading.Event()

    def cut() -> None:
        is_over.set()
        with suppress(OSError, AttributeError, TypeError):
            socket.socket.shutdown(server.sock, socket.SHUT_RDWR)  # type: ignore[arg-type]

    timer = threading.Timer(within_s, cut)
    timer.daemon = True
    timer.start()
    try:
        code, _ = server.connect(settings["host"], settings["port"])
        if code != 220:
            raise smtplib.SMTPResponseException(code, "")
        yield server
    except (OSError, smtplib.SMTPException) as error:
        if is_over.is_set():
            raise NotHad(f"does not answer within {within_s:g} s") from None
        if isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError):  # smtplib makes a lost connection of it
            raise NotHad(f"does not answer within {each_s:g} s") from None
        raise
    finally:
        timer.cancel()
        server.close()
