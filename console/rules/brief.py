"""The cluster's verdict in a line of a few words, for the top of every page. Pure.

Only what is counted is in it: it changes when something happens, and not because time passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from broker_core.contract.groups import Group
from console.rules.partitions import brokers
from console.rules.words import counted, whole


def brief(
    counts: Mapping[str, int],
    dead: Sequence[int],
    silent: Sequence[int],
    groups: Sequence[Group],
    *,
    store_is_away: bool,
    folders: int,
) -> str:
    """`counts` are the cluster's, `dead` and `silent` brokers by id, `folders` how many data folders are not well."""
    found = [*_brokers(dead, silent), *_partitions(counts)] or [_safe(counts)]
    if store_is_away:
        found.append("ZooKeeper does not answer")
    if folders:
        found.append(f"{counted(folders, 'data folder')} in trouble")
    if behind := sum(group.attention is not None for group in groups):
        found.append(f"{counted(behind, 'group')} behind")
    if (away := counts.get("not_preferred", 0)) and not dead:
        found.append(f"{counted(away, 'partition')} not led by the preferred broker")
    return " · ".join(found)


def _safe(counts: Mapping[str, int]) -> str:
    kept = counts.get("partitions", 0) - counts.get("deleting", 0)
    return "No topics yet" if not kept else "The one partition is safe" if kept == 1 else f"All {whole(kept)} partitions are safe"


def _brokers(dead: Sequence[int], silent: Sequence[int]) -> Iterator[str]:
    for some, what in ((dead, "down"), (silent, "silent")):
        if some:
            words = brokers(some)
            yield f"{words[0].upper()}{words[1:]} {'is' if len(some) == 1 else 'are'} {what}"


def _partitions(counts: Mapping[str, int]) -> Iterator[str]:
    """Each partition is counted once."""
    below = counts.get("under_min_isr", 0)
    under = counts.get("under_replicated", 0) - (below - counts.get("under_min_isr_moving", 0))
    found = {
        "offline": counts.get("offline", 0),
        "under min ISR": below,
        "under-replicated": under,
        "of unknown state": counts.get("unknown", 0),
        "starting": counts.get("starting", 0),
    }
    for words, count in found.items():
        if count > 0:
            yield f"{counted(count, 'partition')} {words}"
