"""How the clients of the demo fare, from the file that its process writes (`workers/demo/clients_file.py`)."""

from __future__ import annotations

import json
import time
from typing import Any

from django.conf import settings

from broker_core.local.process import LocalProcess

OLD_S = 60.0
CLIENTS_LIMIT = 100


def clients() -> list[dict[str, Any]]:
    """`[{name, doing, silent_s, sentence}]`; none where no demo runs. One that tells nothing is a silent client itself."""
    folder = settings.DATA_DIR / "run"
    try:
        if not LocalProcess("demo", folder).alive():
            return []
        told = json.loads((folder / "demo.clients.json").read_text())
        age_s = time.time() - told["at_ms"] / 1000
        if age_s < OLD_S:
            return list(told["clients"])[:CLIENTS_LIMIT]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    said = f"The demo has told nothing of its clients for {age_s:.0f} s."
    return [{"name": "demo", "doing": "that tells of the demo", "silent_s": age_s, "sentence": said}]
