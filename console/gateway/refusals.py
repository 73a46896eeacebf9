"""What Kafka's errors mean to whoever asked: the one table from its codes to a kind of problem."""

from __future__ import annotations

from broker_core.errors import RETRIABLE, ErrorCode
from console.gateway.errors import ClusterUnreachable, GatewayError, Unfinished
from console.rules import problems
from console.rules.problems import Kind

K = ErrorCode
_ERRORS: dict[Kind, tuple[ErrorCode, ...]] = {
    problems.TOPIC_NOT_FOUND: (K.UNKNOWN_TOPIC_OR_PARTITION, K.UNKNOWN_TOPIC_ID),
    problems.GROUP_NOT_FOUND: (K.GROUP_ID_NOT_FOUND,),
    problems.BROKER_NOT_FOUND: (K.LOG_DIR_NOT_FOUND, K.BROKER_ID_NOT_REGISTERED),
    problems.NOT_FOUND: (K.RESOURCE_NOT_FOUND, K.TRANSACTIONAL_ID_NOT_FOUND),
    problems.TOPIC_EXISTS: (K.TOPIC_ALREADY_EXISTS,),
    problems.CONFLICT: (K.DUPLICATE_RESOURCE, K.CONCURRENT_TRANSACTIONS, K.UNSTABLE_OFFSET_COMMIT),
    problems.GROUP_HAS_MEMBERS: (
        K.NON_EMPTY_GROUP,
        K.GROUP_SUBSCRIBED_TO_TOPIC,
        K.UNKNOWN_MEMBER_ID,
        K.ILLEGAL_GENERATION,
        K.REBALANCE_IN_PROGRESS,
        K.FENCED_INSTANCE_ID,
    ),
    problems.REASSIGNMENT_RUNS: (K.REASSIGNMENT_IN_PROGRESS,),
    problems.NO_REASSIGNMENT: (K.NO_REASSIGNMENT_IN_PROGRESS,),
    problems.NO_ELIGIBLE_LEADER: (K.PREFERRED_LEADER_NOT_AVAILABLE, K.ELIGIBLE_LEADERS_NOT_AVAILABLE),
    problems.ELECTION_NOT_NEEDED: (K.ELECTION_NOT_NEEDED,),
    problems.DELETION_DISABLED: (K.TOPIC_DELETION_DISABLED,),
    problems.INVALID_TOPIC: (K.INVALID_TOPIC_EXCEPTION,),
    problems.INVALID_PARTITIONS: (K.INVALID_PARTITIONS,),
    problems.INVALID_REPLICAS: (K.INVALID_REPLICATION_FACTOR, K.INVALID_REPLICA_ASSIGNMENT),
    problems.INVALID_CONFIG: (K.INVALID_CONFIG,),
    problems.INVALID_OFFSET: (K.OFFSET_OUT_OF_RANGE,),
    problems.POLICY_VIOLATION: (K.POLICY_VIOLATION,),
    problems.CLUSTER_FORBIDS: tuple(code for code in K if code.name.endswith(("_AUTHORIZATION_FAILED", "_AUTHENTICATION_FAILED"))),
    problems.CLUSTER_THROTTLES: (K.THROTTLING_QUOTA_EXCEEDED,),
    problems.TOO_LARGE: (K.MESSAGE_TOO_LARGE, K.RECORD_LIST_TOO_LARGE, K.OFFSET_METADATA_TOO_LARGE, K.INVALID_COMMIT_OFFSET_SIZE),
    problems.UNSUPPORTED: (K.UNSUPPORTED_VERSION, K.UNSUPPORTED_FOR_MESSAGE_FORMAT, K.UNSUPPORTED_COMPRESSION_TYPE, K.SECURITY_DISABLED),
    problems.UNFINISHED: (K.REQUEST_TIMED_OUT,),
    problems.DISK_FAILED: (K.KAFKA_STORAGE_ERROR,),
    problems.CLUSTER_FAILED: (K.UNKNOWN_SERVER_ERROR,),
}
_KINDS = {int(code): kind for kind, codes in _ERRORS.items() for code in codes}


def kind_of(error: GatewayError) -> Kind:
    """Errors that the table does not have are refusals, or reasons to ask again."""
    if isinstance(error, ClusterUnreachable):
        return problems.UNREACHABLE
    if isinstance(error, Unfinished):
        return problems.UNFINISHED
    known = None if error.code is None else _KINDS.get(error.code)
    return known or (problems.CLUSTER_BUSY if error.retriable or error.code in RETRIABLE else problems.CLUSTER_REFUSED)


def sentence(error: GatewayError) -> str:
    """What the cluster said, in its own words with its name and code, then what to do next."""
    kind = kind_of(error)
    is_ours = error.code is None or isinstance(error, Unfinished)
    said = f"{error.message[:1].upper()}{error.message[1:]}" if is_ours else f"The cluster answered {error}"
    return " ".join(part for part in (said.rstrip(".") + ".", kind.advice) if part)
