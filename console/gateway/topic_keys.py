"""What each topic setting is: type, default, choices and a sentence."""

from __future__ import annotations

from typing import Any

from broker_core.config import TOPIC_KEYS

ALL_KEYS = tuple(sorted(TOPIC_KEYS))
CREATE_KEYS = ("min.insync.replicas", "cleanup.policy", "retention.ms", "retention.bytes", "max.message.bytes", "compression.type")


def known(name: str, doc: str = "") -> dict[str, Any]:
    """`{doc, type, choices, default}`; a setting we do not know is a string."""
    key = TOPIC_KEYS.get(name)
    if key is None:
        return {"doc": doc, "type": "string", "choices": [], "default": ""}
    return {"doc": doc or key.doc, "type": key.type.name.lower(), "choices": list(key.choices), "default": key.show(key.default) or ""}
