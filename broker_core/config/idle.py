"""Settings that Apache Kafka 3.9's broker has and this one does not: taken, described once they are set, and without effect.

A property file made for Kafka so starts this broker, which says of each such line that it does nothing; and tools may set
what they set on Kafka. Missing are those that would have to change where data lies or how the cluster is led (`log.dir`,
`process.roles`, `node.id`, the controller quorum): they are refused like names that no Kafka knows.
"""

from __future__ import annotations

from broker_core.config.key import Key, KeyType

_WITHOUT_EFFECT = "Has no effect here: a setting of Apache Kafka's that this broker does not use."
_NAMES = {
    KeyType.BOOLEAN: """
alter.config.policy.kraft.compatibility.enable auto.include.jmx.reporter broker.id.generation.enable eligible.leader.replicas.enable
remote.log.storage.system.enable ssl.allow.dn.changes ssl.allow.san.changes
zookeeper.metadata.migration.enable zookeeper.set.acl zookeeper.ssl.client.enable zookeeper.ssl.crl.enable zookeeper.ssl.ocsp.enable
""",
    KeyType.INT: """
alter.log.dirs.replication.quota.window.num alter.log.dirs.replication.quota.window.size.seconds background.threads
broker.heartbeat.interval.ms broker.session.timeout.ms connection.failed.authentication.delay.ms controller.quorum.append.linger.ms
controller.quorum.election.backoff.max.ms controller.quorum.election.timeout.ms controller.quorum.fetch.timeout.ms
controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms controller.quota.window.num controller.quota.window.size.seconds
delete.records.purgatory.purge.interval.requests group.consumer.heartbeat.interval.ms group.consumer.max.heartbeat.interval.ms
group.consumer.max.session.timeout.ms group.consumer.max.size group.consumer.min.heartbeat.interval.ms
group.consumer.min.session.timeout.ms group.consumer.session.timeout.ms group.coordinator.append.linger.ms group.coordinator.threads
group.share.delivery.count.limit group.share.heartbeat.interval.ms group.share.max.heartbeat.interval.ms
group.share.max.record.lock.duration.ms group.share.max.session.timeout.ms group.share.min.heartbeat.interval.ms
group.share.min.record.lock.duration.ms group.share.min.session.timeout.ms group.share.partition.max.record.locks
group.share.record.lock.duration.ms group.share.session.timeout.ms initial.broker.registration.timeout.ms
kafka.metrics.polling.interval.secs log.cleaner.io.buffer.size log.cleaner.threads max.connection.creation.rate
max.request.partition.size.limit metadata.log.segment.bytes metadata.max.idle.interval.ms metrics.num.samples num.io.threads
num.network.threads num.recovery.threads.per.data.dir num.replica.alter.log.dirs.threads offsets.topic.compression.codec
password.encoder.iterations password.encoder.key.length quota.window.num quota.window.size.seconds remote.fetch.max.wait.ms
remote.log.manager.copier.thread.pool.size remote.log.manager.copy.quota.window.num remote.log.manager.copy.quota.window.size.seconds
remote.log.manager.expiration.thread.pool.size remote.log.manager.fetch.quota.window.num
remote.log.manager.fetch.quota.window.size.seconds remote.log.manager.thread.pool.size remote.log.metadata.custom.metadata.max.bytes
remote.log.reader.max.pending.tasks remote.log.reader.threads replica.socket.receive.buffer.bytes replication.quota.window.num
replication.quota.window.size.seconds sasl.login.connect.timeout.ms sasl.login.read.timeout.ms
sasl.oauthbearer.clock.skew.seconds sasl.server.max.receive.size socket.listen.backlog.size socket.receive.buffer.bytes
socket.send.buffer.bytes telemetry.max.bytes zookeeper.max.in.flight.requests
""",
    KeyType.LONG: """
connections.max.reauth.ms delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms delegation.token.max.lifetime.ms
log.dir.failure.timeout.ms metadata.log.max.record.bytes.between.snapshots metadata.log.max.snapshot.interval.ms metadata.log.segment.ms
metadata.max.retention.bytes metadata.max.retention.ms metrics.sample.window.ms remote.log.index.file.cache.total.size.bytes
remote.log.manager.copy.max.bytes.per.second remote.log.manager.fetch.max.bytes.per.second remote.log.manager.task.interval.ms
sasl.kerberos.min.time.before.relogin sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms
sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
""",
    KeyType.SHORT: """
group.share.max.groups group.share.max.size offsets.commit.required.acks sasl.login.refresh.buffer.seconds
sasl.login.refresh.min.period.seconds
""",
    KeyType.DOUBLE: """
log.cleaner.io.buffer.load.factor log.cleaner.io.max.bytes.per.second sasl.kerberos.ticket.renew.jitter
sasl.kerberos.ticket.renew.window.factor sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
""",
    KeyType.LIST: """
group.consumer.assignors group.coordinator.rebalance.protocols kafka.metrics.reporters metric.reporters sasl.enabled.mechanisms
sasl.kerberos.principal.to.local.rules sasl.oauthbearer.expected.audience ssl.cipher.suites ssl.enabled.protocols
zookeeper.ssl.cipher.suites zookeeper.ssl.enabled.protocols
""",
    KeyType.CLASS: """
alter.config.policy.class.name client.quota.callback.class create.topic.policy.class.name principal.builder.class
sasl.client.callback.handler.class sasl.login.callback.handler.class sasl.login.class sasl.server.callback.handler.class
ssl.engine.factory.class
""",
    KeyType.PASSWORD: """
delegation.token.master.key delegation.token.secret.key password.encoder.old.secret password.encoder.secret sasl.jaas.config
ssl.key.password ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.password ssl.truststore.certificates
ssl.truststore.password zookeeper.ssl.keystore.password zookeeper.ssl.truststore.password
""",
    KeyType.STRING: """
authorizer.class.name control.plane.listener.name early.start.listeners
max.connections.per.ip.overrides metadata.log.dir metrics.recording.level password.encoder.cipher.algorithm
password.encoder.keyfactory.algorithm remote.log.metadata.manager.class.name remote.log.metadata.manager.class.path
remote.log.metadata.manager.impl.prefix remote.log.metadata.manager.listener.name remote.log.storage.manager.class.name
remote.log.storage.manager.class.path remote.log.storage.manager.impl.prefix sasl.kerberos.kinit.cmd sasl.kerberos.service.name
sasl.mechanism.controller.protocol sasl.mechanism.inter.broker.protocol sasl.oauthbearer.expected.issuer
sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url
security.inter.broker.protocol security.providers ssl.client.auth ssl.endpoint.identification.algorithm ssl.keymanager.algorithm
ssl.keystore.location ssl.keystore.type ssl.principal.mapping.rules ssl.protocol ssl.provider ssl.secure.random.implementation
ssl.trustmanager.algorithm ssl.truststore.location ssl.truststore.type zookeeper.clientCnxnSocket
zookeeper.ssl.endpoint.identification.algorithm zookeeper.ssl.keystore.location zookeeper.ssl.keystore.type zookeeper.ssl.protocol
zookeeper.ssl.truststore.location zookeeper.ssl.truststore.type
""",
}
_DYNAMIC_NAMES = """
background.threads log.cleaner.io.buffer.load.factor log.cleaner.io.buffer.size
log.cleaner.io.max.bytes.per.second log.cleaner.threads max.connection.creation.rate max.connections.per.ip.overrides metric.reporters
num.io.threads num.network.threads num.recovery.threads.per.data.dir principal.builder.class remote.fetch.max.wait.ms
remote.log.index.file.cache.total.size.bytes remote.log.manager.copy.max.bytes.per.second remote.log.manager.fetch.max.bytes.per.second
sasl.enabled.mechanisms sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin sasl.kerberos.principal.to.local.rules
sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor sasl.login.refresh.buffer.seconds
sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
sasl.mechanism.inter.broker.protocol ssl.cipher.suites ssl.client.auth ssl.enabled.protocols ssl.endpoint.identification.algorithm
ssl.engine.factory.class ssl.keymanager.algorithm ssl.keystore.location ssl.keystore.type ssl.protocol ssl.provider
ssl.secure.random.implementation ssl.trustmanager.algorithm ssl.truststore.location ssl.truststore.type
"""
_DYNAMIC = frozenset(_DYNAMIC_NAMES.split())
"""What may change in a running broker; no passwords, which would lie open in ZooKeeper."""

IDLE_KEYS: dict[str, Key] = {
    name: Key(name, kind, None, _WITHOUT_EFFECT, dynamic=name in _DYNAMIC, sensitive=kind is KeyType.PASSWORD)
    for kind, names in _NAMES.items()
    for name in names.split()
}
