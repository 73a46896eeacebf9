"""A moment of the past, laid out as the recorder does it."""

from __future__ import annotations

import time
from typing import Any

from msgspec.structs import replace

from console.snapshot import moments, write
from tests.support.console_world import BROKERS, add_topic, cluster_state

THEN_MS = 1_763_882_590_000


def lay_out(redis: Any) -> str:
    """Broker 3 is down, and there is a topic `before`; returns the snapshot's name."""
    state = cluster_state(THEN_MS)
    state.set_brokers({b: BROKERS[b] for b in (1, 2)}, THEN_MS)
    add_topic(state, "before", 1, THEN_MS)
    state.set_topic("before", replace(state.topics["before"], settings={"retention.ms": "60000"}), THEN_MS)
    state.broker_settings[1] = {"log.retention.ms": "120000"}
    state.take(THEN_MS)
    name = moments.name_of("local", THEN_MS)
    pipe = redis.pipeline(transaction=True)
    write.store(pipe, name, state.everything(THEN_MS))
    pipe.mset({f"hw:{{{name}}}:{part}": THEN_MS for part in ("beat", "oldest", "due")})
    pipe.zadd(moments.MOMENTS, {name: time.time()})
    pipe.execute()
    return name
