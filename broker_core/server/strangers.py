"""Tells of control requests from somebody who does not call itself a broker.

Any client may send them: as Kafka without an authorizer and without `control.plane.listener.name`, a broker obeys whoever knows
the controller's epoch. A client id proves nothing, so this refuses nothing; it shows the tool or test that drives the wrong cluster.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

from broker_core.protocol.api import ApiKey
from broker_core.seams import Clock, Peer

log = logging.getLogger(__name__)

QUIET_MS = 60_000.0
_BROKER = re.compile(r"(broker-)?[0-9]+")
"""A broker's client id: ours are `broker-1`, Apache's are `1`."""


class Strangers:
    """Of one broker. One line a minute at most, with the number of requests since the last one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told_ms: float | None = None
        self._untold = 0

    def note(self, key: ApiKey, client_id: str | None, peer: Peer, tell: Callable[[str, str], None]) -> None:
        """Logs and tells (event kind, text) of a control request if it is a stranger's."""
        if client_id is not None and _BROKER.fullmatch(client_id):
            return
        self._untold += 1
        now_ms = self._clock.monotonic_ms()
        if self._told_ms is not None and now_ms - self._told_ms < QUIET_MS:
            return
        count, self._untold, self._told_ms = self._untold, 0, now_ms
        values = {"api": key.name, "client": client_id, "peer": f"{peer.host}:{peer.port}", "count": count}
        log.warning("control request from no broker", extra=values)
        tell("stranger", f"{key.name} from {values['peer']}, client id {client_id} is no broker's; {count} since the last notice")
