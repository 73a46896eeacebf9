"""Where settings with an effect are otherwise than Apache Kafka 3.9's, and why: for the page of all settings, and for who compares.

Settings without an effect say why themselves (`idle.py`).
"""

from __future__ import annotations

OF_BROKERS = {
    "advertised.listeners": "not changed in a running broker, as nobody would be told of it before a restart",
    "broker.id": "0 where none is given, as one made up would change when a folder is lost; Kafka's default is -1",
    "inter.broker.protocol.version": "2.7-IV1 at least, as followers learn by Fetch v12 what to cut off their logs",
    "listener.security.protocol.map": "not changed in a running broker, as listeners are not",
    "listeners": "loopback only by default, as nobody is asked who he is; not changed in a running broker",
    "log.dirs": "Kafka's default is in another setting, log.dir, which counts here too where this one is not given",
    "max.connections": "limited by default, to what one process bears",
    "max.connections.per.ip.overrides": "addresses only, as no names are looked up",
    "num.replica.fetchers": "16 at most, as they share one thread",
    "queued.max.request.bytes": "limited by default, so that no client can take all memory",
    "replica.lag.time.max.ms": "may be changed in a running broker, as it is read each time replicas are looked at",
    "socket.listen.backlog.size": "512 by default, as all clients come at once after a start",
    "socket.receive.buffer.bytes": "by default the system's own, as it grows by need",
    "socket.send.buffer.bytes": "by default the system's own, as it grows by need",
    "zookeeper.connect": "has a default, as a cluster may be one machine",
    "zookeeper.max.in.flight.requests": "100 by default, as a controller that begins reads the state of all partitions",
}
"""By name, as a part of a sentence."""

LIKE_KAFKAS = frozenset(("inter.broker.protocol.version", "max.connections.per.ip.overrides", "num.replica.fetchers"))
"""Those of them that are described as Kafka describes them, with the same default, type and scope: only what they take differs."""

OWN = "this broker's own"
"""What is said of settings that no Kafka has, which begin with `highwater.`."""
