"""What a deletion up to an offset takes of a topic: records, an estimate of bytes, and what groups have not read yet. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from console.rules.words import counted, size, whole


class Gone(Struct, frozen=True, kw_only=True):
    """A partition's log from `first` to `end` (exclusive), of which what lies below `then` goes: `offsets` of them. `about_bytes` takes
    all records for equally large; null: not available. `error` says why they did not go, once it was tried."""

    partition: int
    first: int
    then: int
    end: int
    offsets: int
    about_bytes: int | None
    error: str = ""


class Unread(Struct, frozen=True, kw_only=True):
    """Records that go and that a group which reads the topic has not read yet, in so many partitions."""

    group: str
    records: int
    partitions: int


class Deletion(Struct, frozen=True, kw_only=True):
    """`unread` is null where it is not known who reads the topic; `more_groups` were not looked at."""

    topic: str
    partitions: list[Gone]
    unread: list[Unread] | None
    more_groups: int = 0

    @property
    def offsets(self) -> int:
        return sum(row.offsets for row in self.partitions)

    @property
    def about_bytes(self) -> int | None:
        """Null where that of a partition which loses records is not available."""
        known = [row.about_bytes for row in self.partitions if row.offsets]
        return None if None in known else sum(one or 0 for one in known)


def gone(partition: int, first: int, end: int, before: int, log_bytes: int | None) -> Gone:
    """`before` is brought to where the log is; `log_bytes` is the size of the whole log."""
    then = min(max(before, first), end)
    kept = end - first
    about = None if log_bytes is None else round(log_bytes * (then - first) / kept) if kept else 0
    return Gone(partition=partition, first=first, then=then, end=end, offsets=then - first, about_bytes=about)


def unread(rows: Sequence[Gone], committed: Mapping[str, Mapping[int, int]]) -> list[Unread]:
    """`committed` has each group's offsets by partition; those with the most to lose first."""
    found = []
    for group, offsets in committed.items():
        lost = [max(row.then - max(offsets[row.partition], row.first), 0) for row in rows if row.partition in offsets]
        if any(lost):
            found.append(Unread(group=group, records=sum(lost), partitions=sum(one > 0 for one in lost)))
    return sorted(found, key=lambda one: (-one.records, one.group))


def risks(plan: Deletion) -> list[str]:
    """What the deletion means, in sentences."""
    touched = sum(row.offsets > 0 for row in plan.partitions)
    about = "" if plan.about_bytes is None else f", about {size(plan.about_bytes)}"
    said = [
        f"{counted(plan.offsets, 'offset')}{about}, of {counted(touched, 'partition')} of {plan.topic} "
        f"{'is' if plan.offsets == 1 else 'are'} deleted for good, from every replica."
    ]
    if plan.unread is None:
        said.append("Whether groups have read them is not available.")
    elif plan.unread:
        worst = plan.unread[0]
        others = f", and {counted(len(plan.unread) - 1, 'other group')} some" if len(plan.unread) > 1 else ""
        said.append(f"Group {worst.group} has not read {whole(worst.records)} of them{others}: they will never be read there.")
    return said


def sentence(rows: Iterable[Gone]) -> str:
    """What became of it."""
    all_rows = list(rows)
    done = sum(row.offsets for row in all_rows if not row.error)
    failed = [row for row in all_rows if row.error]
    said = f"{counted(done, 'offset')} deleted."
    return f"{said} Partition {failed[0].partition} refused: {failed[0].error}" if failed else said
