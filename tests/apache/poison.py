"""Malformed batches, drawn by a seed: whole and right but for what a producer must not send, with a CRC that says all is well."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

from broker_core.records.batch import HEADER_BYTES, Codec, Record, build_batch, parse_header, seal_batch
from broker_core.records.compression import compress
from broker_core.records.header import BatchHeader
from broker_core.records.record import encode_record, write_zigzag

CODECS = tuple(Codec)
PACKED = tuple(Codec)[1:]
INT32_MAX, INT32_MIN = 2**31 - 1, -(2**31)
INT64_MAX, INT64_MIN = 2**63 - 1, -(2**63)
ATTRIBUTES = {"append time": 0x08, "transactional": 0x10, "control": 0x20, "delete horizon": 0x40, "seventh bit": 0x80, "high byte": 0x0100}


class Poison(NamedTuple):
    """A batch and what is wrong with it."""

    name: str
    data: bytes


class Drawn:
    """One random batch before it is spoiled: its records, their bytes, its codec."""

    def __init__(self, drawn: random.Random, time_ms: int, codec: int) -> None:
        self.drawn = drawn
        self.codec = codec
        count = drawn.choice((1, 2, 3, 8, 30))
        size = drawn.choice((0, 5, 40, 90, 300))
        alike = drawn.random() < 0.3
        self.records = [
            Record(
                index,
                time_ms + drawn.randrange(100),
                b"key-%d" % (index % 7),
                b"v" * size if alike else drawn.randbytes(drawn.randrange(size + 1)),
                (("name", b"value"), ("null", None)) if drawn.random() < 0.1 and not alike else (),
            )
            for index in range(count)
        ]
        self.base_ms = self.records[0].timestamp_ms

    @property
    def parts(self) -> list[bytes]:
        return [encode_record(record, 0, self.base_ms) for record in self.records]

    def header(self) -> BatchHeader:
        return parse_header(build_batch(self.records))

    def with_header(self, **fields: int) -> bytes:
        """The batch with these fields of its header instead; `attributes` are added to the codec."""
        return self.with_body(compress(self.codec, b"".join(self.parts)), **fields)

    def with_plain(self, plain: bytes, **fields: int) -> bytes:
        return self.with_body(compress(self.codec, plain), **fields)

    def with_body(self, body: bytes, **fields: int) -> bytes:
        header = self.header()
        header.attributes = self.codec
        for name, value in fields.items():
            setattr(header, name, value | self.codec if name == "attributes" else value)
        return seal_batch(header, body)


Maker = Callable[[Drawn], Iterator[tuple[str, bytes]]]


def counts(batch: Drawn) -> Iterator[tuple[str, bytes]]:
    right = len(batch.records)
    for wrong in (INT32_MIN, -1, 0, right - 1, right + 1, INT32_MAX):
        yield f"count {wrong}", batch.with_header(record_count=wrong)
        yield f"last offset delta {wrong - 1}", batch.with_header(last_offset_delta=max(wrong - 1, INT32_MIN))
        if wrong > INT32_MIN:
            yield f"count and last offset delta {wrong}", batch.with_header(record_count=wrong, last_offset_delta=wrong - 1)


def offsets(batch: Drawn) -> Iterator[tuple[str, bytes]]:
    for offset in (-1, 1, INT64_MAX, INT64_MIN):
        yield f"base offset {offset}", batch.with_header(base_offset=offset)
    yield "leader epoch", batch.with_header(leader_epoch=batch.drawn.randrange(INT32_MIN, INT32_MAX))
    for kind, change in (
        ("all zero", lambda _: 0),
        ("backwards", lambda n: -n),
        ("with gaps", lambda n: 2 * n),
        ("huge", lambda n: INT32_MAX - n),
    ):
        moved = [encode_record(record._replace(offset=change(record.offset)), 0, batch.base_ms) for record in batch.records]
        yield f"offset deltas {kind}", batch.with_plain(b"".join(moved))


def flags(batch: Drawn) -> Iterator[tuple[str, bytes]]:
    for name, bits in ATTRIBUTES.items():
        yield f"attributes: {name}", batch.with_header(attributes=bits)
    for codec in (5, 6, 7):
        yield f"codec {codec}", batch.with_header(attributes=codec - batch.codec if batch.codec == 0 else 7)
    yield "append time without a time", batch.with_header(attributes=ATTRIBUTES["append time"], max_timestamp=-1)


def times(batch: Drawn) -> Iterator[tuple[str, bytes]]:
    for newest in (INT64_MIN, -2, -1, 0, batch.base_ms - 5, INT64_MAX):
        yield f"newest timestamp {newest if newest in (-2, -1, 0) else 'far off'}", batch.with_header(max_timestamp=newest)
    for base in (-1, 0, -5_000, batch.base_ms + 10**10):
        yield "another base timestamp", batch.with_header(base_timestamp=base)


def producers(batch: Drawn) -> Iterator[tuple[str, bytes]]:
    drawn = batch.drawn
    for _ in range(8):
        producer_id = drawn.choice((-2, -1, drawn.randrange(2**40)))
        epoch = drawn.choice((0, 3, 2**15 - 1))
        sequence = drawn.choice((INT32_MIN, -2, -1, 0, 17, INT32_MAX))
        fields = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence}
        yield f"producer {producer_id} epoch {epoch} sequence {sequence}", batch.with_header(**fields)


def records(batch: Drawn) -> Iterator[tuple[str, bytes]]:
    drawn, parts = batch.drawn, batch.parts
    plain = b"".join(parts)
    yield "no bytes", batch.with_plain(b"")
    yield "a record too many", batch.with_plain(plain + parts[-1])
    yield "a record missing", batch.with_plain(b"".join(parts[:-1]))
    yield "a byte too many", batch.with_plain(plain + b"\0")
    yield "cut short", batch.with_plain(plain[: drawn.randrange(len(plain))])
    yield "nothing but noise", batch.with_plain(drawn.randbytes(len(plain)))
    yield "nothing but zeros", batch.with_plain(bytes(len(plain)))
    for _ in range(4):
        at = drawn.randrange(len(plain))
        yield "a bit of the records flipped", batch.with_plain(plain[:at] + bytes((plain[at] ^ 1 << drawn.randrange(8),)) + plain[at + 1 :])


def fields(batch: Drawn) -> Iterator[tuple[str, bytes]]:
    """One record whose lengths say what is not so; its own length agrees with its bytes."""
    parts = batch.parts
    at = batch.drawn.randrange(len(parts))
    start, key, value = b"\0" + number(0) + number(at), number(1) + b"k", number(1) + b"v"
    for name, body in {
        "key longer than the record": start + number(1000) + b"k" + value + number(0),
        "value longer than the record": start + key + number(1000) + b"v" + number(0),
        "value of two gigabytes": start + key + number(INT32_MAX) + b"v" + number(0),
        "lengths of minus two": start + number(-2) + number(-2) + number(0),
        "headers that are not there": start + key + value + number(3),
        "minus one headers": start + key + value + number(-1),
        "two thousand million headers": start + key + value + number(INT32_MAX),
        "a header without a name": start + key + value + number(1) + number(-1) + number(-1),
        "a header's value too long": start + key + value + number(1) + number(1) + b"n" + number(9),
        "a time of eleven bytes": b"\0" + b"\xff" * 10 + b"\1" + number(at) + key + value + number(0),
        "an offset of six bytes": b"\0" + number(0) + b"\x80" * 5 + b"\1" + key + value + number(0),
        "attributes of a record": b"\x77" + start[1:] + key + value + number(0),
    }.items():
        yield name, batch.with_plain(b"".join((*parts[:at], number(len(body)) + body, *parts[at + 1 :])))


def record_lengths(batch: Drawn) -> Iterator[tuple[str, bytes]]:
    """A record's own length is wrong, and all that is in it right."""
    parts = batch.parts
    body = b"\0" + number(0) + number(0) + number(1) + b"k" + number(1) + b"v" + number(0)
    for length in (-1, 0, len(body) - 1, len(body) + 1, INT32_MAX):
        yield "a record's length", batch.with_plain(b"".join((number(length) + body, *parts[1:])))


def packing(batch: Drawn) -> Iterator[tuple[str, bytes]]:
    """What stands where compressed bytes should."""
    drawn, plain = batch.drawn, b"".join(batch.parts)
    packed = compress(batch.codec, plain)
    yield "compressed: no bytes", batch.with_body(b"")
    yield "compressed: noise", batch.with_body(drawn.randbytes(drawn.choice((1, 20, 400))))
    yield "compressed: not at all", batch.with_body(plain)
    yield "compressed: cut short", batch.with_body(packed[: drawn.randrange(1, len(packed))])
    yield "compressed: by another codec", batch.with_body(compress(drawn.choice([c for c in PACKED if c != batch.codec]), plain))
    yield "compressed: twice", batch.with_body(compress(batch.codec, packed))
    at = drawn.randrange(len(packed))
    yield "compressed: a bit flipped", batch.with_body(packed[:at] + bytes((packed[at] ^ 1 << drawn.randrange(8),)) + packed[at + 1 :])


def frames(batch: Drawn) -> Iterator[tuple[str, bytes]]:
    """The batch as a whole."""
    drawn, data = batch.drawn, batch.with_header()
    at = drawn.randrange(17, len(data))
    yield "CRC", data[:at] + bytes((data[at] ^ 1 << drawn.randrange(8),)) + data[at + 1 :]
    yield "cut short as a whole", data[: drawn.randrange(HEADER_BYTES, len(data))]
    yield "bytes after it", data + bytes(drawn.randrange(1, 12))
    yield "twice", data + data
    for magic in (0, 1, 3, -1):
        yield f"magic {magic}", data[:16] + struct.pack(">b", magic) + data[17:]
    for size in (INT32_MIN, -1, 0, 13, 40, INT32_MAX):
        yield f"length {size}", data[:8] + struct.pack(">i", size) + data[12:]
    yield "nothing wrong", data


def number(value: int) -> bytes:
    out = bytearray()
    write_zigzag(out, value)
    return bytes(out)


ALL_CODECS: tuple[Maker, ...] = (counts, offsets, flags, times, producers, records, fields, record_lengths, frames)


def poisons(seed: int, time_ms: int) -> list[Poison]:
    """Each kind of damage in a batch of each codec; the same ones for a seed but for the time."""
    drawn = random.Random(seed)
    found = []
    for codec in CODECS:
        for maker in (*ALL_CODECS, *((packing, packing, packing) if codec else ())):
            batch = Drawn(drawn, time_ms, codec)
            found += [Poison(f"{codec.name.lower()}: {name}", data) for name, data in maker(batch)]
    return found
