"""Every figure under the console's `/metrics`: docs/metrics.md is made from this, and what is not here cannot be written. Pure.

Labels are bounded: clusters, brokers, routes by their names, kinds, states; of topics and groups the first `TOPICS_SHOWN` and
`GROUPS_SHOWN` of a cluster, and how many are left out is told beside them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

TOPICS_SHOWN = 500
"""Those with a partition that is not safe first, the others by name."""
GROUPS_SHOWN = 200
"""Those with the most lag."""

Kind = Literal["gauge", "counter", "histogram"]


class Metric(NamedTuple):
    """`text` is what it means, a sentence."""

    name: str
    text: str
    labels: tuple[str, ...] = ()
    kind: Kind = "gauge"


CLUSTER, BROKER, TOPIC, GROUP = ("cluster",), ("cluster", "broker"), ("cluster", "topic"), ("cluster", "group")

OF_THE_CONSOLE = (
    Metric("highwater_database_up", "1 while the console's database answers."),
    Metric("highwater_redis_up", "1 while Redis, where the live state and the queues lie, answers."),
    Metric("process_start_time_seconds", "When the process that answers began to serve, since 1970."),
    Metric("process_cpu_seconds_total", "Processor time of the process that answers.", (), "counter"),
    Metric("process_resident_memory_bytes", "Memory of the process that answers."),
    Metric(
        "highwater_console_http_requests_total",
        "Requests answered, by the name of the route (static: files; none: no such address) and the first digit of the status.",
        ("route", "method", "status"),
        "counter",
    ),
    Metric(
        "highwater_console_http_request_duration_seconds",
        "From a request's arrival to its answer ready; of an answer that has no end to its beginning.",
        ("route", "method"),
        "histogram",
    ),
    Metric("highwater_console_websockets", "Open websockets of live pages."),
    Metric("highwater_console_streams", "Open streams of server-sent events."),
)

OF_PROCESSES = (
    Metric(
        "highwater_beat_age_seconds",
        "Since a process last said that it lives: live (of the own cluster), collector, history.",
        ("process",),
    ),
    Metric("highwater_queue_length", "Tasks that wait for a worker, or searches for the reader (records).", ("queue",)),
    Metric("highwater_queue_unacknowledged", "Tasks that a worker has taken and not begun."),
    Metric("highwater_jobs", "Jobs that are kept, by their state now.", ("cluster", "kind", "state")),
    Metric(
        "highwater_job_steps_total",
        "Steps of jobs that ended so: unfinished (another one follows), waiting (for a cluster that does not answer), succeeded, failed, "
        "cancelled; since Redis has counted.",
        ("kind", "outcome"),
        "counter",
    ),
    Metric("highwater_job_step_duration_seconds", "How long steps of jobs took; since Redis has counted.", ("kind",), "histogram"),
    Metric("highwater_health_report_age_seconds", "Since the last health report.", CLUSTER),
    Metric("highwater_analysis_age_seconds", "Since the last analysis that succeeded ended.", CLUSTER),
    Metric("highwater_samples_spool_bytes", "Samples that wait on disk until their topic can be written.", CLUSTER),
)

OF_CLUSTERS = (
    Metric("highwater_live_age_seconds", "Since the process that keeps the cluster's live state last said that it lives.", CLUSTER),
    Metric("highwater_live_brokers_heard", "Brokers of which what is shown is fresh.", CLUSTER),
    Metric("highwater_question_age_seconds", "Since a cluster that is asked last answered this kind of question.", ("cluster", "kind")),
    Metric("highwater_question_interval_seconds", "How often it is asked at present.", ("cluster", "kind")),
    Metric("highwater_question_failing", "1 where it was not answered when it was last asked.", ("cluster", "kind")),
    Metric("highwater_cluster_brokers_online", "Brokers that run.", CLUSTER),
    Metric("highwater_cluster_brokers_total", "Brokers that are known.", CLUSTER),
    Metric("highwater_cluster_topics", "Topics.", CLUSTER),
    Metric("highwater_cluster_partitions", "Partitions.", CLUSTER),
    Metric("highwater_cluster_troubled_topics", "Topics with a partition that is not safe.", CLUSTER),
    Metric("highwater_cluster_under_replicated", "Partitions that lack a replica in sync.", CLUSTER),
    Metric("highwater_cluster_under_min_isr", "Partitions with fewer replicas in sync than min.insync.replicas.", CLUSTER),
    Metric("highwater_cluster_offline", "Partitions without a leader.", CLUSTER),
    Metric("highwater_cluster_out_of_sync_replicas", "Replicas that are not in sync.", CLUSTER),
    Metric("highwater_cluster_not_preferred", "Partitions not led by their preferred replica.", CLUSTER),
    Metric("highwater_cluster_deleting", "Partitions of topics that are being deleted.", CLUSTER),
    Metric("highwater_cluster_groups", "Groups.", CLUSTER),
    Metric("highwater_cluster_groups_behind", "Groups whose lag is out of their own rhythm; left out while one's is not known.", CLUSTER),
    Metric("highwater_cluster_group_lag", "Records that groups have not read yet: the sum over all groups whose lag is known.", CLUSTER),
    Metric("highwater_cluster_groups_left_out", f"Groups beyond the {GROUPS_SHOWN} with the most lag, which have no figures.", CLUSTER),
    Metric("highwater_cluster_topics_left_out", f"Topics beyond the first {TOPICS_SHOWN}, which have no figures.", CLUSTER),
    Metric("highwater_cluster_controller_id", "The broker that is the controller.", CLUSTER),
    Metric("highwater_cluster_controller_epoch", "How often a controller was elected.", CLUSTER),
    Metric("highwater_cluster_produce_bytes_per_s", "Bytes of records produced a second.", CLUSTER),
    Metric("highwater_cluster_fetch_bytes_per_s", "Bytes of records sent to consumers a second.", CLUSTER),
    Metric("highwater_cluster_messages_per_s", "Records produced a second.", CLUSTER),
    Metric("highwater_cluster_requests_per_s", "Requests to all brokers a second.", CLUSTER),
)

OF_BROKERS = (
    Metric("highwater_broker_online", "1 while it runs.", BROKER),
    Metric("highwater_broker_leaders", "Partitions that it leads.", BROKER),
    Metric("highwater_broker_replicas", "Replicas that it has.", BROKER),
    Metric("highwater_broker_out_of_sync", "Of these, replicas that are not in sync.", BROKER),
    Metric("highwater_broker_size_bytes", "Bytes of its logs.", BROKER),
    Metric("highwater_broker_unmeasured", "Replicas of whose size nobody tells, which size_bytes is without.", BROKER),
    Metric("highwater_broker_bytes_in_per_s", "Bytes of records produced to it a second.", BROKER),
    Metric("highwater_broker_bytes_out_per_s", "Bytes of records that consumers fetch from it a second.", BROKER),
    Metric("highwater_broker_messages_in_per_s", "Records produced to it a second.", BROKER),
    Metric("highwater_broker_connections", "Open client connections.", BROKER),
    Metric("highwater_broker_idle_percent", "Share of the last second in which its loop had nothing to do.", BROKER),
    Metric("highwater_broker_loop_stalls", "How often its loop stood still since its start.", BROKER),
    Metric("highwater_broker_log_dir_offline", "1 where the data folder that is worst off is offline after an I/O error.", BROKER),
    Metric("highwater_broker_log_dir_free_bytes", "Bytes free on that folder's disk.", BROKER),
    Metric("highwater_broker_log_dir_total_bytes", "Bytes of that disk.", BROKER),
    Metric("highwater_broker_log_dir_full_in_s", "Seconds until that disk is full at the rate of the last ten minutes.", BROKER),
)

OF_TOPICS = (
    Metric("highwater_topic_partitions", "Partitions.", TOPIC),
    Metric("highwater_topic_under_replicated", "Partitions that lack a replica in sync.", TOPIC),
    Metric("highwater_topic_under_min_isr", "Partitions with fewer replicas in sync than min.insync.replicas.", TOPIC),
    Metric("highwater_topic_offline", "Partitions without a leader.", TOPIC),
    Metric("highwater_topic_size_bytes", "Bytes of its leaders' logs.", TOPIC),
    Metric("highwater_topic_messages", "Offsets from the beginning to the end of its partitions.", TOPIC),
    Metric("highwater_topic_unmeasured", "Partitions of whose log nobody tells, which the two before are without.", TOPIC),
    Metric("highwater_topic_messages_per_s", "Records produced a second.", TOPIC),
)

OF_GROUPS = (
    Metric("highwater_group_lag", "Records that it has not read yet.", GROUP),
    Metric("highwater_group_lag_seconds", "Age of the oldest record that it has not read yet.", GROUP),
    Metric("highwater_group_members", "Members.", GROUP),
)

AS_OTHERS_SAY = (
    Metric("kafka_brokers", "Brokers that run; as kafka_exporter's.", CLUSTER),
    Metric("kafka_topic_partitions", "Partitions of a topic; as kafka_exporter's.", TOPIC),
    Metric("kafka_consumergroup_members", "Members of a group; as kafka_exporter's.", ("cluster", "consumergroup")),
    Metric("kafka_consumergroup_group_sum_lag", "Lag of a group in records; as Kafka Lag Exporter's.", ("cluster_name", "group")),
    Metric(
        "kafka_consumergroup_group_max_lag_seconds",
        "Lag of a group in seconds, on the partition where it is longest; as Kafka Lag Exporter's.",
        ("cluster_name", "group"),
    ),
)
"""The same figures once more under names that dashboards from elsewhere ask for."""

SECTIONS: dict[str, tuple[Metric, ...]] = {
    "The console": OF_THE_CONSOLE,
    "Workers and other processes": OF_PROCESSES,
    "Clusters": OF_CLUSTERS,
    "Brokers, as the console sees them": OF_BROKERS,
    "Topics": OF_TOPICS,
    "Groups": OF_GROUPS,
    "Names of other exporters": AS_OTHERS_SAY,
}
METRICS: dict[str, Metric] = {metric.name: metric for section in SECTIONS.values() for metric in section}


def fields_of(prefix: str, section: tuple[Metric, ...]) -> tuple[str, ...]:
    """What follows the prefix in the names of a section: the fields of the value that it shows."""
    return tuple(metric.name.removeprefix(prefix) for metric in section if metric.name.startswith(prefix))


def unit_of(name: str) -> str:
    """In words, by how the name ends; the same for brokers' own figures."""
    endings = {
        "_bytes_per_s": "bytes/s",
        "_per_s": "a second",
        "_bytes": "bytes",
        "_bytes_total": "bytes",
        "_percent": "percent",
        "_seconds": "seconds",
        "_seconds_total": "seconds",
        "_in_s": "seconds",
        "_sum_lag": "records",
        "_lag": "records",
        "_messages": "records",
        "_messages_in_total": "records",
    }
    return next((unit for ending, unit in endings.items() if name.endswith(ending)), "")
