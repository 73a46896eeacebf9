"""What people changed, as events, by whatever tool they did it: a topic grew, its settings, a group's offsets. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.contract import feed
from broker_core.contract.stored import Topic
from console.live.events.happened import Happened
from console.rules.settings.kept import changed
from console.rules.settings.model import without_secrets
from console.rules.words import counted, whole

SETTINGS_NAMED = 5
TEXT_CHARS_LIMIT = 60
Offsets = Mapping[tuple[str, int], int]


def topic_changes(name: str, before: Topic, after: Topic, at_ms: int) -> list[Happened]:
    """From what is known of the same topic before and after."""
    told = []
    was, now = len(before.partitions), len(after.partitions)
    if now > was:
        text = f"topic {name} grew from {whole(was)} to {counted(now, 'partition')}; records with a key may go to another one from now on."
        told.append(Happened("topic_grew", "notice", text, at_ms, topic=name))
    old, new = before.settings, after.settings
    names = changed(old, new)
    if names and old is not None and new is not None:
        said = [_setting(key, old.get(key), new.get(key)) for key in names[:SETTINGS_NAMED]]
        said += [f"{whole(len(names) - SETTINGS_NAMED)} more"] if len(names) > SETTINGS_NAMED else []
        told.append(Happened("topic_settings", "notice", f"settings of topic {name} were changed: {'; '.join(said)}.", at_ms, topic=name))
    return told


def _setting(key: str, old: str | None, new: str | None) -> str:
    old, new = (without_secrets({key: value})[key] for value in (old, new))
    if new is None:
        return f"{key} is the broker's own again (was {_short(old)})"
    return f"{key} is {_short(new)}" + (f" (was {_short(old)})" if old is not None else "")


def _short(text: str | None) -> str:
    found = text or "empty"
    return found if len(found) <= TEXT_CHARS_LIMIT else f"{found[:TEXT_CHARS_LIMIT]}…"


def offset_moves(before: feed.Group, after: feed.Group, *, old: Offsets, new: Offsets, at_ms: int) -> list[Happened]:
    """An event a topic whose committed offsets somebody moved. `before` and `after` are what its coordinator told.

    Members commit what they have read, so what goes back was moved; what goes forward only where the group had no member and is of
    those that have some (one that only ever commits by itself, as Spark's, goes forward by reading). Where no generation is told, members
    may have come and gone unseen.
    """
    unseen = after.generation is None
    idle = not unseen and before.generation == after.generation and after.protocol_type and not before.members and not after.members
    moved: dict[str, dict[int, tuple[int, int]]] = {}
    for (topic, partition), offset in new.items():
        was = old.get((topic, partition))
        if was is not None and (offset < was or (idle and offset > was)):
            moved.setdefault(topic, {})[partition] = (was, offset)
    return [_moved(after.group, topic, partitions, at_ms) for topic, partitions in sorted(moved.items())]


def _moved(group: str, topic: str, partitions: Mapping[int, tuple[int, int]], at_ms: int) -> Happened:
    again = sum(max(was - now, 0) for was, now in partitions.values())
    skipped = sum(max(now - was, 0) for was, now in partitions.values())
    effects = [f"{counted(n, 'record')} {what}" for n, what in ((again, "will be read again"), (skipped, "will be skipped")) if n]
    first = min(partitions)
    was, now = partitions[first]
    where = f"{topic}-{first} from {whole(was)} to {whole(now)}" + (
        f" and {whole(len(partitions) - 1)} more" if len(partitions) > 1 else ""
    )
    text = f"offsets of group {group} were moved: {where}. {effects[0][0].upper()}{', '.join(effects)[1:]}."
    return Happened("offsets_moved", "notice", text, at_ms, topic=topic, group=group)
