"""The bytes of one record's key or value, as they were written, for those from whom nothing of them is hidden."""

from __future__ import annotations

from msgspec.structs import replace

from console.searches import files
from workers.reader.exporting import make_room
from workers.reader.finding import found_of
from workers.reader.forward import Forward
from workers.reader.opened import Decoded
from workers.reader.veiled import Seen, Veiled


class RawPart(Forward):
    """Puts them into a file, and tells of the record, of which `masked` says that there is none."""

    def _keep(self, seen: Seen) -> None:
        run, part = self._run, self._run.search.raw
        one, raw = found_of(seen, run.search), _written(seen, part)
        shown = one.key if part == "key" else one.value
        if raw is not None and shown is not None:
            if shown.masked or (run.search.rules and _is_decoded(seen, part)):
                one = replace(one, **{part: replace(shown, masked=True, size=None)})
            else:
                make_room()
                path = files.path_of(run.search)
                path.touch(mode=0o600)
                run.progress.file_bytes = path.write_bytes(raw)
        run.add(one)


def _written(seen: Seen, part: str) -> bytes | None:
    if isinstance(seen, Veiled | Decoded):
        return seen.stored(part)
    return seen.key() if part == "key" else seen.value()  # type: ignore[return-value, unused-ignore]


def _is_decoded(seen: Seen, part: str) -> bool:
    """What a schema shows may leave out some of the bytes, in which no rule has looked then."""
    opened = seen.opened(part) if isinstance(seen, Veiled | Decoded) else None
    return opened is not None and opened.stored is not None
