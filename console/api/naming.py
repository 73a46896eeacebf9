"""Names of operations and of shapes in the OpenAPI description, as programs that are generated from it have them: functions and classes.

An operation is called by what it does, from its method and path: `GET …/topics` is `list_topics`, `POST …/searches/{search_id}/stop` is
`stop_search`. Names stay as long as paths do.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

CLUSTER = "/clusters/{cluster_id}"
VERBS = {"get": "get", "post": "create", "put": "set", "patch": "change", "delete": "delete"}
DEEDS = {"cancellation": "cancel", "deletion": "delete", "removal": "remove"}
"""Last words of a path that say what is done, beside verbs themselves."""
SAYS_A_DEED = {*DEEDS, "mend", "plan", "preview", "resume", "stop", "test", "undo"}
OWN_NAMES = {
    ("post", f"{CLUSTER}/brokers/{{broker_id}}/{{action}}"): "act_on_broker",
    ("post", f"{CLUSTER}/topics/{{name}}/partitions"): "add_topic_partitions",
    ("post", f"{CLUSTER}/topics/{{name}}/unclean-election"): "elect_unclean_leaders",
    ("post", f"{CLUSTER}/topics/{{name}}/records"): "write_topic_records",
    ("post", f"{CLUSTER}/topics/{{name}}/searches"): "start_topic_search",
    ("post", f"{CLUSTER}/groups/{{group_id}}/offsets"): "move_group_offsets",
    ("delete", "/jobs/{job_id}"): "cancel_job",
    ("post", f"{CLUSTER}/schedules/{{schedule_id}}/pause"): "pause_schedule",
    ("post", f"{CLUSTER}/schedules/{{schedule_id}}/run"): "run_schedule",
    ("get", f"{CLUSTER}/schedules/preview"): "preview_schedule",
    ("get", f"{CLUSTER}/analytics/tables/{{name}}.csv"): "get_analytics_table_as_csv",
    ("get", f"{CLUSTER}/analytics/tables/{{name}}.parquet"): "get_analytics_table_as_parquet",
    ("post", f"{CLUSTER}/transactions/{{transactional_id}}/termination"): "terminate_transaction",
    ("get", f"{CLUSTER}/hanging-transactions"): "find_hanging_transactions",
    ("post", f"{CLUSTER}/topics/{{name}}/partitions/{{number}}/abort-transaction"): "abort_transaction",
    ("post", f"{CLUSTER}/topics/{{name}}/delete-records"): "delete_topic_records",
    ("post", f"{CLUSTER}/topics/{{name}}/partitions/{{number}}/delete-records"): "delete_partition_records",
}


def operation_name(method: str, path: str, *, lists: bool) -> str:
    """`method` in small letters, `path` below /api/v1; `lists`: what it answers is a page of a list."""
    own = OWN_NAMES.get((method, path))
    if own is not None:
        return own
    parts = (path.removeprefix(CLUSTER) or path).strip("/").split("/")
    verb = VERBS[method]
    if parts[-1] in SAYS_A_DEED and method == "post":
        last = parts.pop()
        verb = DEEDS.get(last, last)
    elif lists:
        verb = "list"
    alone = verb == "create" or (verb not in ("list", "delete", "remove") and method == "post")
    return "_".join([verb, *_nouns(parts, last_alone=alone)])


def _nouns(parts: list[str], *, last_alone: bool) -> Iterator[str]:
    """What is followed by a name of one of them is one of many."""
    for place, part in enumerate(parts):
        if part.startswith("{"):
            continue
        word = part.replace("-", "_").replace(".", "_as_")
        is_last = place == len(parts) - 1
        yield one_of(word) if (last_alone if is_last else parts[place + 1].startswith("{")) else word


def one_of(many: str) -> str:
    for ending, instead in (("ches", "ch"), ("ies", "y"), ("s", "")):
        if many.endswith(ending):
            return many.removesuffix(ending) + instead
    return many


def shape_names(found: Collection[str]) -> Mapping[str, str]:
    """By msgspec's name of each type a plain one: the module's last word stands before those that two modules have."""
    return {name: _plain(name) for name in found}


def _plain(name: str) -> str:
    words = name.rstrip("_").split(".")[-2:]
    return "".join(part[:1].upper() + part[1:] for word in words for part in re.split("_", word))


def renamed(value: Any, names: Mapping[str, str], base: str) -> Any:
    """The description with each reference to a type under its new name; `base` is what references begin with."""
    if isinstance(value, list):
        return [renamed(one, names, base) for one in value]
    if not isinstance(value, dict):
        return value
    ref = value.get("$ref")
    if isinstance(ref, str):
        return {**value, "$ref": base + names[ref.removeprefix(base)]}
    return {key: renamed(one, names, base) for key, one in value.items()}
