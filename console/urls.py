"""Addresses of pages and of the REST interface. A view, its URL and its template share a name."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from console.api import api
from console.api.metrics import metrics
from console.api.probes import healthz
from console.views.alerts import (
    alert_destination_change,
    alert_destination_new,
    alert_destination_remove,
    alert_destination_switch,
    alert_destination_test,
    alert_rule_change,
    alert_rule_delete,
    alert_rule_new,
    alert_rule_preview,
    alert_rule_switch,
    alert_silence_end,
    alert_silence_new,
    alerts,
)
from console.views.analytics import analytics, analytics_table
from console.views.broker import broker, broker_graded_kill, broker_if_stopped
from console.views.brokers import broker_action, brokers
from console.views.changes import changes
from console.views.clusters import cluster_change, cluster_delete, cluster_new, clusters
from console.views.console_settings import console_settings
from console.views.controller import controller, znodes
from console.views.favourites import favourite
from console.views.find import find
from console.views.group import group, group_delete, group_export, group_offsets
from console.views.group_taken import group_forget, group_members
from console.views.groups import groups
from console.views.health import health, health_compare, health_file, health_report, health_run
from console.views.heat_map import heat_map
from console.views.jobs import job, job_cancel, job_create, job_form, job_pause, jobs
from console.views.lag import lag
from console.views.left_throttles import left_throttles, left_throttles_clear
from console.views.masking import mask_rule, mask_rule_new, mask_rule_remove, masking
from console.views.moves import moves
from console.views.moving import moving, moving_adopt, moving_cancel
from console.views.offset_change import offset_change
from console.views.over_time import over_time
from console.views.overview import overview
from console.views.partition import partition
from console.views.partition_log import partition_log
from console.views.partition_producers import partition_producers, transaction_abort
from console.views.record_copy import topic_records_copy
from console.views.record_deletion import topic_records_delete
from console.views.record_export import topic_records_export, topic_records_export_file
from console.views.records import audit, events
from console.views.schedules import (
    schedule,
    schedule_change,
    schedule_delete,
    schedule_new,
    schedule_pause,
    schedule_preview,
    schedule_run,
    schedules,
    schedules_after_return,
)
from console.views.schemas import schema, schema_registry, schema_registry_remove
from console.views.session import login, logout
from console.views.settings import settings, token_create, token_revoke
from console.views.settings_form import broker_defaults, broker_settings, topic_settings
from console.views.topic import topic, topic_delete, topic_partitions, topic_unclean
from console.views.topic_create import topic_create
from console.views.topic_records import (
    topic_record,
    topic_record_part,
    topic_records,
    topic_records_download,
    topic_records_found,
    topic_records_go_on,
    topic_records_stop,
)
from console.views.topics import lately, topics
from console.views.topics_bulk import topics_bulk
from console.views.topology import topology
from console.views.transaction import transaction, transaction_end
from console.views.transactions import hanging_transactions, transactions
from console.views.wanted import wanted, wanted_mend
from console.views.write_records import topic_records_new


class TopicName(StringConverter):
    """Anything but a slash: names Kafka would refuse get a page that says so."""

    regex = "[^/]{1,300}"


class GroupName(StringConverter):
    """Groups and transactional ids may be called anything, slashes and new lines included, or nothing."""

    regex = r"[\s\S]*?"


handler400, handler403 = "console.views.errors.bad_request", "console.views.errors.forbidden"
handler404, handler500 = "console.views.errors.not_found", "console.views.errors.server_error"

register_converter(TopicName, "topic")
register_converter(GroupName, "group")

urlpatterns = [
    path("login", login, name="login"),
    path("logout", logout, name="logout"),
    path("", overview, name="overview"),
    path("find", find, name="find"),
    path("topology", topology, name="topology"),
    path("heat-map", heat_map, name="heat_map"),
    path("brokers", brokers, name="brokers"),
    path("brokers/<int:broker_id>", broker, name="broker"),
    path("brokers/<int:broker_id>/if-it-stops", broker_if_stopped, name="broker_if_stopped"),
    path("brokers/<int:broker_id>/graded-kill", broker_graded_kill, name="broker_graded_kill"),
    path("brokers/<int:broker_id>/settings", broker_settings, name="broker_settings"),
    path("broker-defaults", broker_defaults, name="broker_defaults"),
    path("brokers/<int:broker_id>/<slug:action>", broker_action, name="broker_action"),
    path("controller", controller, name="controller"),
    path("controller/zookeeper", znodes, name="znodes"),
    path("topics", topics, name="topics"),
    path("lately", lately, name="topics_lately"),
    path("topics-at-once", topics_bulk, name="topics_bulk"),
    path("favourites", favourite, name="favourite"),
    path("new-topic", topic_create, name="topic_create"),
    path("topics/<topic:name>/delete", topic_delete, name="topic_delete"),
    path("topics/<topic:name>/partitions", topic_partitions, name="topic_partitions"),
    path("topics/<topic:name>/unclean-election", topic_unclean, name="topic_unclean"),
    path("topics/<topic:name>/settings", topic_settings, name="topic_settings"),
    path("topics/<topic:name>/<int:number>", partition, name="partition"),
    path("topics/<topic:name>/<int:partition>/log", partition_log, name="partition_log"),
    path("topics/<topic:name>/<int:partition>/producers", partition_producers, name="partition_producers"),
    path("topics/<topic:name>/<int:partition>/abort", transaction_abort, name="transaction_abort"),
    path("topics/<topic:name>/records", topic_records, name="topic_records"),
    path("topics/<topic:name>/records/new", topic_records_new, name="topic_records_new"),
    path("topics/<topic:name>/records/copy", topic_records_copy, name="topic_records_copy"),
    path("topics/<topic:name>/records/delete", topic_records_delete, name="topic_records_delete"),
    path("topics/<topic:name>/records/found", topic_records_found, name="topic_records_found"),
    path("topics/<topic:name>/records/download", topic_records_download, name="topic_records_download"),
    path("topics/<topic:name>/records/export", topic_records_export, name="topic_records_export"),
    path("topics/<topic:name>/records/export/file", topic_records_export_file, name="topic_records_export_file"),
    path("topics/<topic:name>/records/stop", topic_records_stop, name="topic_records_stop"),
    path("topics/<topic:name>/records/go-on", topic_records_go_on, name="topic_records_go_on"),
    path("topics/<topic:name>/records/<int:partition>/<int:offset>", topic_record, name="topic_record"),
    path("topics/<topic:name>/records/<int:partition>/<int:offset>/key", topic_record_part, {"part": "key"}, name="topic_record_key"),
    path("topics/<topic:name>/records/<int:partition>/<int:offset>/value", topic_record_part, {"part": "value"}, name="topic_record_value"),
    path("topics/<topic:name>", topic, name="topic"),
    path("over-time", over_time, name="over_time"),
    path("lag", lag, name="lag"),
    path("groups", groups, name="groups"),
    path("group-offsets/<group:group_id>", group_offsets, name="group_offsets"),
    path("group-offsets-file/<group:group_id>", group_export, name="group_export"),
    path("group-members/<group:group_id>", group_members, name="group_members"),
    path("group-forget/<group:group_id>", group_forget, name="group_forget"),
    path("group-delete/<group:group_id>", group_delete, name="group_delete"),
    path("offset-changes/<int:change_id>", offset_change, name="offset_change"),
    path("groups/<group:group_id>", group, name="group"),
    path("transactions", transactions, name="transactions"),
    path("hanging-transactions", hanging_transactions, name="hanging_transactions"),
    path("transaction-end/<group:transactional_id>", transaction_end, name="transaction_end"),
    path("transactions/<group:transactional_id>", transaction, name="transaction"),
    path("jobs", jobs, name="jobs"),
    path("jobs/new", job_create, name="job_create"),
    path("jobs/move", moves, name="moves"),
    path("jobs/moving", moving, name="moving"),
    path("jobs/moving/adopt", moving_adopt, name="moving_adopt"),
    path("jobs/moving/cancel", moving_cancel, name="moving_cancel"),
    path("jobs/throttles", left_throttles, name="left_throttles"),
    path("jobs/throttles/clear", left_throttles_clear, name="left_throttles_clear"),
    path("jobs/new/<slug:name>", job_form, name="job_form"),
    path("jobs/<int:job_id>", job, name="job"),
    path("jobs/<int:job_id>/cancel", job_cancel, name="job_cancel"),
    path("jobs/<int:job_id>/pause", job_pause, name="job_pause"),
    path("alerts", alerts, name="alerts"),
    path("alerts/rules", alert_rule_new, name="alert_rule_new"),
    path("alerts/preview", alert_rule_preview, name="alert_rule_preview"),
    path("alerts/rules/<int:rule_id>/switch", alert_rule_switch, name="alert_rule_switch"),
    path("alerts/rules/<int:rule_id>/change", alert_rule_change, name="alert_rule_change"),
    path("alerts/rules/<int:rule_id>/delete", alert_rule_delete, name="alert_rule_delete"),
    path("alerts/silences", alert_silence_new, name="alert_silence_new"),
    path("alerts/silences/<int:silence_id>/end", alert_silence_end, name="alert_silence_end"),
    path("alerts/destinations", alert_destination_new, name="alert_destination_new"),
    path("alerts/destinations/<int:destination_id>/change", alert_destination_change, name="alert_destination_change"),
    path("alerts/destinations/<int:destination_id>/switch", alert_destination_switch, name="alert_destination_switch"),
    path("alerts/destinations/<int:destination_id>/test", alert_destination_test, name="alert_destination_test"),
    path("alerts/destinations/<int:destination_id>/remove", alert_destination_remove, name="alert_destination_remove"),
    path("schedules", schedules, name="schedules"),
    path("schedules/new", schedule_new, name="schedule_new"),
    path("schedules/preview", schedule_preview, name="schedule_preview"),
    path("schedules/after-return", schedules_after_return, name="schedules_after_return"),
    path("schedules/<int:schedule_id>", schedule, name="schedule"),
    path("schedules/<int:schedule_id>/change", schedule_change, name="schedule_change"),
    path("schedules/<int:schedule_id>/pause", schedule_pause, name="schedule_pause"),
    path("schedules/<int:schedule_id>/run", schedule_run, name="schedule_run"),
    path("schedules/<int:schedule_id>/delete", schedule_delete, name="schedule_delete"),
    path("analytics", analytics, name="analytics"),
    path("analytics/tables/<slug:name>.<slug:kind>", analytics_table, name="analytics_table"),
    path("health", health, name="health"),
    path("health/run", health_run, name="health_run"),
    path("health/compare", health_compare, name="health_compare"),
    path("health/<int:report_id>", health_report, name="health_report"),
    path("health/<int:report_id>/<slug:kind>", health_file, name="health_file"),
    path("wanted", wanted, name="wanted"),
    path("wanted/mend", wanted_mend, name="wanted_mend"),
    path("events", events, name="events"),
    path("changes", changes, name="changes"),
    path("audit", audit, name="audit"),
    path("clusters", clusters, name="clusters"),
    path("clusters/new", cluster_new, name="cluster_new"),
    path("clusters/<slug:cluster_id>", cluster_change, name="cluster_change"),
    path("clusters/<slug:cluster_id>/delete", cluster_delete, name="cluster_delete"),
    path("settings", settings, name="settings"),
    path("settings/console", console_settings, name="console_settings"),
    path("settings/masking", masking, name="masking"),
    path("settings/masking/new", mask_rule_new, name="mask_rule_new"),
    path("settings/masking/<int:rule_id>", mask_rule, name="mask_rule"),
    path("settings/masking/<int:rule_id>/delete", mask_rule_remove, name="mask_rule_remove"),
    path("settings/schema-registry", schema_registry, name="schema_registry"),
    path("settings/schema-registry/delete", schema_registry_remove, name="schema_registry_remove"),
    path("schemas/<int:number>", schema, name="schema"),
    path("settings/tokens/new", token_create, name="token_create"),
    path("settings/tokens/<int:token_id>/revoke", token_revoke, name="token_revoke"),
    path("api/v1/", api.urls),
    path("healthz", healthz, name="healthz"),
    path("metrics", metrics, name="metrics"),
]
