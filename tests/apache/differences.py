"""Where our broker answers otherwise than Apache Kafka 3.9 on purpose: name of the comparison, and why."""

from __future__ import annotations

from broker_core.protocol.api import ApiKey

INTENDED: dict[str, str] = {
    "assignment to nobody": "Kafka makes a partition without replicas that nothing can mend",
    "assignment to an unknown broker": "told as a partition without a leader, so that clients count right; Kafka tells nothing of it",
    "negative broker": "Kafka makes a partition that no broker can ever lead",
    "partition assigned twice": "Kafka takes the last of two contradicting lists",
    "null name without an id": "Kafka fails with an internal error",
    "neither name nor id": "Kafka says that authorization failed, with no authorizer configured",
    "producer without an epoch": "no producer sends a producer id without an epoch, and Kafka stores what none can fence",
    "election of another kind": "Kafka fails with an internal error",
    "unknown operation": "Kafka fails with an internal error",
    "unknown setting of a broker": "Kafka keeps it for plug-ins that it may have; ours has none",
    "message set cut short": "refused whole; Kafka takes the messages before the cut",
    "two message sets": "all is converted; Kafka cuts what grew by it at the size it had before, and the client asks again",
    "ends version 0": "one offset by the records' time for clients before 0.10.1; Kafka lists segments by their files' time",
    "in many segments version 0": "as above",
    "named again": "a group is described once: Kafka's answer grows with each mention of a group of any size",
}

BROKER_SETTINGS: dict[str, str] = {
    "max.connections": "limited by default",
    "queued.max.request.bytes": "limited by default",
    "replica.lag.time.max.ms": "may be changed in a running broker",
    "broker.id": "no id is made up",
    "log.dirs": "Kafka's default is in another setting, log.dir",
    "listeners": "loopback only by default, and not changed in a running broker",
    "advertised.listeners": "not changed in a running broker",
    "listener.security.protocol.map": "as above",
    "zookeeper.connect": "has a default",
    "zookeeper.connection.timeout.ms": "Kafka has no default of its own and takes the session's timeout",
}
"""Broker settings that are described otherwise, and why."""

BROKER_SETTINGS_OURS = {
    "highwater.decoding.max.bytes",
    "highwater.decoding.max.ms",
    "highwater.decoding.max.records",
    "highwater.metrics.host",
    "highwater.metrics.port",
    "highwater.watch.max.clients",
    "highwater.early.failover.enable",
    # Dynamic settings of brokers in Kafka as well, which describes them only once they are set.
    "follower.replication.throttled.rate",
    "leader.replication.throttled.rate",
}
BROKER_SETTINGS_MISSING = (
    # KRaft, tiered storage, share groups, newer consumer groups: not in ZooKeeper mode.
    "broker.heartbeat.", "broker.session.", "controller.listener.", "controller.quorum.", "early.", "eligible.", "group.consumer.",
    "group.coordinator.", "group.share.", "initial.", "metadata.", "node.id", "process.roles", "remote.", "telemetry.",
    "zookeeper.metadata.",
    # Security, quotas and plug-ins.
    "alter.config.policy.", "alter.log.dirs.", "authorizer.", "client.quota.", "connection.failed.", "connections.max.reauth.",
    "controller.quota.", "create.topic.policy.", "delegation.token.", "max.connection.creation.",
    "max.connections.per.ip.overrides", "password.encoder.", "principal.", "quota.", "replication.quota.", "sasl.", "security.", "ssl.",
    "zookeeper.set.acl", "zookeeper.ssl.", "zookeeper.clientCnxnSocket",
    # The JVM's metrics, threads and sockets.
    "auto.include.jmx.reporter", "background.threads", "kafka.metrics.", "metric.", "metrics.", "num.io.threads", "num.network.threads",
    "num.recovery.", "num.replica.alter.", "replica.socket.receive.", "request.timeout.ms", "socket.", "zookeeper.max.in.flight.",
    "log.cleaner.io.", "log.cleaner.threads", "delete.records.purgatory.", "max.request.partition.size.limit",
    # One folder, ids given by hand; and what brokers between each other and transactions have.
    "broker.id.generation.", "control.plane.", "log.dir", "offsets.commit.required.acks",
    "offsets.topic.compression.codec", "transaction.", "transactional.id.",
)  # fmt: skip
"""Beginnings of the names of broker settings that ours has not."""

NOT_SERVED: dict[ApiKey, str] = {
    ApiKey.SASL_HANDSHAKE: "listeners are PLAINTEXT only",
    ApiKey.SASL_AUTHENTICATE: "as above",
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: "as above",
    ApiKey.ALTER_CLIENT_QUOTAS: "there are no client quotas",
    ApiKey.ENVELOPE: "nothing is forwarded in ZooKeeper mode: Kafka serves it to brokers that move to KRaft",
    ApiKey.UPDATE_FEATURES: "there are no features to finalize",
    ApiKey.CONSUMER_GROUP_HEARTBEAT: "KIP-848 does not exist in ZooKeeper mode: Kafka names it and refuses every request",
    ApiKey.CONSUMER_GROUP_DESCRIBE: "as above",
}
"""Requests that Kafka serves and ours does not, and why."""
