"""The kinds of errors that REST and the pages tell: each has a stable code, an HTTP status, a title and what to do next."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """`code` never changes its meaning: programs go by it. `title` and `advice` are sentences for people."""

    code: str
    status: int
    title: str
    advice: str = ""


BAD_REQUEST = Kind("bad-request", 400, "This request cannot be read", "Send what the description at /api/v1/openapi.json asks for.")
BAD_QUERY = Kind("bad-query", 400, "The address asks for something that is not there to be asked", "`field` names the parameter.")
UNAUTHENTICATED = Kind(
    "unauthenticated",
    401,
    "Who asks is not known",
    "Send Authorization: Bearer with a token made by: highwater token create NAME --role ROLE",
)
FORBIDDEN = Kind("forbidden", 403, "Not allowed", "Ask with a token or as a person of the role that is named.")
NOT_FOUND = Kind("not-found", 404, "Not found", "What it was about may have been deleted or renamed.")
METHOD_NOT_ALLOWED = Kind("method-not-allowed", 405, "Not to be asked so", "Use a method that the header Allow names.")
CONFLICT = Kind("conflict", 409, "Something is under way", "Ask again when it is over.")
OUTDATED = Kind("outdated", 412, "It has changed meanwhile", "Read it again, and decide anew.")
TOO_LARGE = Kind("too-large", 413, "The request is too large", "Send less at a time: a body has 1 MB at most.")
INVALID = Kind("invalid", 422, "This cannot be done so", "`field` names what of the request is wrong.")
UNCONFIRMED = Kind("unconfirmed", 422, "This wants to be confirmed", 'Ask again with "confirm": true to do it.')
TOO_MANY_REQUESTS = Kind("too-many-requests", 429, "Too much was asked lately", "Ask again later, and less often.")
INTERNAL_ERROR = Kind(
    "internal-error",
    500,
    "Something went wrong here",
    "The console met an error of its own; its log has the details. Look before asking again.",
)
DATABASE_AWAY = Kind("database-away", 503, "The console's database is away", "Ask again when it is back.")
READERS_BUSY = Kind("readers-busy", 503, "Too many searches wait", "Ask again when some of them are over.")
SNAPSHOT_AWAY = Kind("snapshot-away", 503, "The live snapshot is away", "Ask again when Redis and the live process are back.")
NOT_KNOWN = Kind("not-known", 503, "Not known now", "Ask again when those who tell of it are heard again.")
HISTORY_AWAY = Kind("history-away", 503, "The past cannot be shown now", "Ask again when the recorder (`manage.py history`) runs.")
UNREACHABLE = Kind("cluster-unreachable", 503, "The cluster does not answer", "Ask again once its brokers run and can be reached.")
UNFINISHED = Kind("cluster-unfinished", 503, "The cluster was not done in time", "Look at what has become of it before asking again.")

CLUSTER_READ_ONLY = Kind("cluster-read-only", 409, "This cluster is read-only here", "An admin may allow changes in its registration.")
CLUSTER_REFUSED = Kind("cluster-refused", 422, "The cluster refused")
CLUSTER_FAILED = Kind("cluster-failed", 502, "The cluster met an error of its own", "The broker's log has the details.")
CLUSTER_BUSY = Kind("cluster-busy", 503, "The cluster is not ready for this", "It moves or loads something: ask again in some seconds.")
CLUSTER_FORBIDS = Kind("cluster-forbids", 403, "The cluster does not allow this to the console", "Grant it to the console's principal.")
CLUSTER_THROTTLES = Kind("cluster-throttles", 429, "The cluster's quota is used up", "Ask again later, and less often.")
DISK_FAILED = Kind("disk-failed", 503, "A broker's disk failed", "Look at the brokers' data folders; ask again when they serve.")
UNSUPPORTED = Kind("unsupported", 422, "The cluster does not know how to do this", "Its version may be too old.")
TOPIC_NOT_FOUND = Kind(
    "topic-not-found", 404, "There is no such topic or partition", "Look at the topics' names; names are case sensitive."
)
GROUP_NOT_FOUND = Kind("group-not-found", 404, "There is no such group", "A group without members and offsets is forgotten after a while.")
BROKER_NOT_FOUND = Kind("broker-not-found", 404, "There is no such broker or folder", "Look at the brokers' ids.")
TOPIC_EXISTS = Kind("topic-exists", 409, "There is a topic of this name", "Take another name, or delete that topic first.")
GROUP_HAS_MEMBERS = Kind("group-has-members", 409, "The group has members", "Stop its consumers, and ask again once it is empty.")
REASSIGNMENT_RUNS = Kind("reassignment-runs", 409, "Replicas are being moved", "Wait for the reassignment, or cancel it.")
NO_REASSIGNMENT = Kind("no-reassignment", 409, "No replicas are being moved", "There is nothing to cancel.")
NO_ELIGIBLE_LEADER = Kind("no-eligible-leader", 409, "No replica may lead", "Start a broker that was in sync.")
ELECTION_NOT_NEEDED = Kind("election-not-needed", 409, "The right replica leads already", "There is nothing to elect.")
DELETION_DISABLED = Kind("deletion-disabled", 409, "Topics may not be deleted", "Set delete.topic.enable on the brokers.")
INVALID_TOPIC = Kind("invalid-topic", 422, "This topic's name cannot be", "Names have up to 249 of a-z A-Z 0-9 . _ and -")
INVALID_PARTITIONS = Kind("invalid-partitions", 422, "So many partitions cannot be", "A topic has at least one, and only grows.")
INVALID_REPLICAS = Kind(
    "invalid-replicas", 422, "The replicas cannot be placed so", "Ask for no more replicas than brokers run; name each once."
)
INVALID_CONFIG = Kind("invalid-config", 422, "A setting cannot have this value", "Take a value that its description allows.")
INVALID_OFFSET = Kind("invalid-offset", 422, "The log does not have this offset", "Take one between its start and its end.")
POLICY_VIOLATION = Kind("policy-violation", 422, "The cluster's policy refuses this", "Ask whoever set the policy.")

KINDS = {found.code: found for found in list(globals().values()) if isinstance(found, Kind)}
_GENERAL = (
    BAD_REQUEST,
    UNAUTHENTICATED,
    FORBIDDEN,
    NOT_FOUND,
    METHOD_NOT_ALLOWED,
    CONFLICT,
    TOO_LARGE,
    INVALID,
    TOO_MANY_REQUESTS,
    INTERNAL_ERROR,
)
_BY_STATUS = {found.status: found for found in _GENERAL}


def kind_of_status(status: int) -> Kind:
    """Of an answer of which no more is known than its status."""
    return _BY_STATUS.get(status) or (BAD_REQUEST if status < 500 else INTERNAL_ERROR)._replace(status=status)
