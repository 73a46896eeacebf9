"""A query as a test of messages. The cheapest parts are asked first."""

from __future__ import annotations

from collections.abc import Callable

from console.rules.records.matching import Unfit, header_test, path_test, text_test
from console.rules.records.progress import Progress
from console.rules.records.query import Query
from workers.reader.bounds import in_time
from workers.reader.veiled import Seen

Wanted = Callable[[Seen], bool]


def wanted(query: Query, progress: Progress) -> Wanted | None:
    """None where every record is. What cannot be looked into is counted in `progress`."""
    tests = [*_in_time_range(query), *_text(query), *_header(query), *_path(query, progress)]
    if len(tests) < 2:
        return tests[0] if tests else None
    return lambda message: all(test(message) for test in tests)


def _in_time_range(query: Query) -> list[Wanted]:
    since, until = query.since_ms, query.until_ms
    if since is None and until is None:
        return []
    least, most = since if since is not None else -1, until if until is not None else 2**63

    def falls(message: Seen) -> bool:
        return least <= message.timestamp()[1] <= most

    return [falls]


def _text(query: Query) -> list[Wanted]:
    if not query.text:
        return []
    test = text_test(query.text, regex=query.regex, case=query.case)

    def in_key(message: Seen) -> bool:
        raw = message.key()
        return raw is not None and test(raw)

    def in_value(message: Seen) -> bool:
        raw = message.value()
        return raw is not None and test(raw)

    if query.where == "any":
        return [lambda message: in_value(message) or in_key(message)]
    return [in_key if query.where == "key" else in_value]


def _header(query: Query) -> list[Wanted]:
    if not query.header:
        return []
    test = header_test(query.header)
    return [lambda message: test(message.headers() or ())]


def _path(query: Query, progress: Progress) -> list[Wanted]:
    if not query.path:
        return []
    test = in_time(path_test(query.path, query.equals))

    def leads(message: Seen) -> bool:
        raw = message.value()
        try:
            return raw is not None and test(raw)
        except Unfit:
            progress.unfit += 1
            return False

    return [leads]
