"""Where answers are otherwise than Apache Kafka 3.9.2's in ZooKeeper mode, and why: a sentence each, for docs/protocol.md.

`tests/apache` compares the answers; what it finds different on purpose is told here too.
"""

from __future__ import annotations

from broker_core.protocol.api import ApiKey

OF_ALL_KEYS = (
    "Messages that explain an error have words of their own; codes are Kafka's.",
    "A request has 131 072 elements in its lists at most; a longer one ends the connection, as no client's word is taken for memory.",
    "The memory of requests and the number of connections are limited by default, as one process serves all.",
)

BY_KEY: dict[ApiKey, tuple[str, ...]] = {
    ApiKey.PRODUCE: (
        "A record whose own length is wrong is refused in compressed batches as well, as no reader could go on behind it.",
        "An old message set that is cut short is refused whole, as Kafka drops what follows the cut without a word.",
        "Two message sets of old clients are all converted, as Kafka cuts what grew by it and lets the client ask again.",
        "A producer id without an epoch is refused, as nobody could fence that producer.",
        "What an idempotent producer sent behind a batch that was refused for the moment is refused alike, not as"
        " OUT_OF_ORDER_SEQUENCE_NUMBER, on which librdkafka stores records twice.",
    ),
    ApiKey.LIST_OFFSETS: ("v0 tells one offset by the records' time, as files' times change when a folder is copied.",),
    ApiKey.METADATA: (
        "For 1.2 s at most no leader is named where it was a broker whose port has begun to refuse, as librdkafka keeps to an old name.",
        "A topic without a name and an id is refused with INVALID_REQUEST, as Kafka fails inside or tells of authorization.",
    ),
    ApiKey.FIND_COORDINATOR: (
        "For 1 s at most it is waited for a leader, as librdkafka, told that there is none, soon asks no more until a connection changes.",
    ),
    ApiKey.DESCRIBE_GROUPS: ("A group named again is described once, as an answer must not grow by repetition.",),
    ApiKey.OFFSET_FETCH: ("A group or partition named again is answered once, as an answer must not grow by repetition.",),
    ApiKey.CREATE_TOPICS: (
        "Assignments to nobody, to a negative broker or of one partition twice are refused, as what Kafka makes of them nothing can mend.",
    ),
    ApiKey.INIT_PRODUCER_ID: ("The first id is waited for, as Kafka answers COORDINATOR_LOAD_IN_PROGRESS and lets the client ask again.",),
    ApiKey.DESCRIBE_CONFIGS: (
        "A resource named again with the same keys is described once, as an answer must not grow by repetition.",
        "Loggers have Python's names, as there is no JVM.",
        "Documentation has words of its own, as it says what a setting does here.",
    ),
    ApiKey.ALTER_CONFIGS: (
        "An unknown setting of a broker is refused, as Kafka keeps it for plug-ins, of which there are none here.",
        "A resource named twice is refused with INVALID_REQUEST, as Kafka fails over its own answer and sends none.",
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (
        "An unknown setting of a broker is refused, as Kafka keeps it for plug-ins, of which there are none here.",
        "An unknown operation is refused with INVALID_REQUEST, as Kafka fails with an internal error.",
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: ("A group named again is told once, as an answer must not grow by repetition.",),
    ApiKey.DESCRIBE_TRANSACTIONS: ("An id named again is described once, as an answer must not grow by repetition.",),
    ApiKey.ELECT_LEADERS: ("An election of another kind is refused with INVALID_REQUEST, as Kafka fails with an internal error.",),
}
"""What differs and why, by key."""

NOT_SERVED: dict[ApiKey, str] = {}
"""What Kafka's broker advertises and ours does not, and why."""
