"""Secrets of registered clusters at rest: encrypted and authenticated by a key made of the console's secret key.

Whoever has the database alone reads nothing. With another secret key what was sealed cannot be opened, and must be entered again.
"""

from __future__ import annotations

import base64
from typing import Any

import msgspec
from django.conf import settings

from console.gateway.errors import GatewayError

PURPOSE = b"highwater: secrets of registered clusters"


class SecretsUnreadable(GatewayError):
    """They were sealed with another secret key, or were changed since."""

    def __init__(self) -> None:
        said = "the stored password or key was sealed with another secret key of this console: an admin has to enter it again"
        super().__init__("SECRETS_UNREADABLE", said)


def seal(secrets: dict[str, str]) -> str:
    """Empty where there are none."""
    kept = {name: text for name, text in secrets.items() if text}
    return _box().encrypt(msgspec.json.encode(kept)).decode() if kept else ""


def unseal(sealed: str) -> dict[str, str]:
    """What `seal` was given; `SecretsUnreadable` otherwise."""
    from cryptography.fernet import InvalidToken

    try:
        return msgspec.json.decode(_box().decrypt(sealed), type=dict[str, str]) if sealed else {}
    except InvalidToken:
        raise SecretsUnreadable from None


def _box() -> Any:
    """Imported here, since most processes never meet a secret."""
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    key = HKDF(SHA256(), 32, salt=None, info=PURPOSE).derive(settings.SECRET_KEY.encode())
    return Fernet(base64.urlsafe_b64encode(key))
