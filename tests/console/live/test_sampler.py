"""Samples on their way to their topic: the spool's pieces, what fits its time, a sink that stands still."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from console.gateway.errors import ClusterUnreachable
from console.live.sampling import sampler as carrying
from console.live.sampling.sampler import Sampler
from console.live.sampling.spool import Record, Spool


def records(count: int, first: int = 0) -> list[Record]:
    return [(b"k%d" % n, b"v" * 20) for n in range(first, first + count)]


def keys(found: Sequence[Record]) -> list[int]:
    return [int(key[1:]) for key, _ in found]


def everything(spool: Spool) -> list[int]:
    """What is in the spool; it is empty afterwards."""
    found: list[int] = []
    while piece := spool.read(1_000_000):
        found += keys(piece)
        spool.settle(len(piece))
    return found


def test_the_spool_keeps_the_newest_within_its_limit(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "s", limit_bytes=4_000)
    for n in range(500):
        spool.add(records(1, n))
    assert 3_000 < spool.size_bytes <= 4_000
    found = everything(spool)
    assert found == list(range(found[0], 500))
    assert (spool.read(10), spool.size_bytes) == ([], 0)


def test_the_spool_is_read_by_pieces_and_what_is_left_of_one_stays(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "s", limit_bytes=80_000, piece_bytes=1_000)
    spool.add(records(100))
    first = spool.read(1_000)
    assert 20 < len(first) < 40 and len(list((tmp_path / "s").iterdir())) > 2
    spool.settle(10, first[3:5])
    assert keys(spool.read(5)) == [3, 4, 10, 11, 12]
    assert everything(spool) == [3, 4, *range(10, 100)]


def test_settling_a_piece_touches_no_other(tmp_path: Path) -> None:
    """27 MB that are written anew for each step never end."""
    spool = Spool(tmp_path / "s", piece_bytes=1_000)
    spool.add(records(1_000))
    for path in (tmp_path / "s").iterdir():
        os.utime(path, (1, 1))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "s").iterdir()}
    spool.settle(5)
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "s").iterdir()}
    assert before.keys() == after.keys()
    assert [path.stem for path in sorted(before) if before[path] != after[path]] == ["000000000001"]


def test_a_torn_line_of_the_spool_is_passed_over(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "s")
    spool.add([(b"a", b"1"), (b"b", b"2")])
    (piece,) = (tmp_path / "s").iterdir()
    piece.write_bytes(piece.read_bytes()[:-2])
    assert spool.read(10) == [(b"a", b"1")]
    spool.add([(b"c", b"3"), (b"d", b"4")])
    assert spool.read(10) == [(b"a", b"1"), (b"c", b"3"), (b"d", b"4")]


def test_rubbish_in_the_spool_is_passed_over_and_goes(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "s")
    spool.add(records(3))
    (piece,) = (tmp_path / "s").iterdir()
    lines = piece.read_bytes().splitlines(keepends=True)
    piece.write_bytes(b"\x00\xff\n" + lines[0] + b"YQ YQ==\n=a b\n" + lines[1] + b"\n" + lines[2])
    assert keys(spool.read(2)) == [0, 1]
    spool.settle(2)
    assert everything(spool) == [2]
    spool.settle(5)


def test_a_spool_of_one_file_is_cut_into_pieces(tmp_path: Path) -> None:
    path = tmp_path / "local.samples"
    path.write_bytes(b"a2E= MQ==\na2I= Mg==\nto")
    spool = Spool(path)
    assert spool.read(10) == [(b"ka", b"1"), (b"kb", b"2")]
    assert [one.name for one in tmp_path.iterdir()] == ["local.samples"]


class Sink:
    """A topic that takes `room` records of each write, and `each_s` of a pretended clock; `away` takes none."""

    now = 0.0
    away = False
    room = 1_000_000
    each_s = 0.0
    opened = 0
    written: list[Record]
    pieces: list[int]

    def __init__(self) -> None:
        self.written, self.pieces = [], []

    def open(self) -> Sink:
        self.opened += 1
        return self

    def write(self, piece: Sequence[Record]) -> list[Record]:
        self.now += self.each_s
        self.pieces.append(len(piece))
        if self.away:
            raise ClusterUnreachable("gone")
        self.written += piece[: self.room]
        return list(piece[self.room :])

    def close(self) -> None: ...


def sampler_of(sink: Sink, spool: Spool) -> Sampler:
    return Sampler(list, sink.open, spool, clock=lambda: sink.now)


def test_samples_wait_on_disk_while_the_topic_is_away(tmp_path: Path) -> None:
    sink, spool = Sink(), Spool(tmp_path / "s")
    sampler = sampler_of(sink, spool)
    sink.away = True
    sampler.step(records(1, 1))
    sampler.step(records(1, 2))
    sink.away = False
    sampler.step(records(1, 3))
    assert keys(sink.written) == [1, 2, 3]
    assert spool.size_bytes == 0


def test_pieces_shrink_to_what_fits_their_time_and_grow_again(tmp_path: Path) -> None:
    """A cluster that takes 30 records of a write still gets all of them, and none twice."""
    sink, spool = Sink(), Spool(tmp_path / "s")
    sampler = sampler_of(sink, spool)
    sink.room = 30
    sampler.step(records(500))
    assert keys(sink.written) == list(range(500))
    assert sink.pieces[0] == 500 and min(sink.pieces[2:]) < 70
    sink.room = 1_000_000
    for n in range(1, 12):
        sampler.step(records(500, 500 * n))
    assert sink.pieces[-1] == 500
    assert keys(sink.written) == list(range(6_000))


def test_a_large_spool_is_carried_a_few_pieces_a_step(tmp_path: Path) -> None:
    """The samples of the next step are not kept waiting, and each step leaves less."""
    sink, spool = Sink(), Spool(tmp_path / "s", piece_bytes=1_000)
    sampler = sampler_of(sink, spool)
    spool.add(records(300))
    sink.each_s = 3.0
    sizes = []
    for n in range(10):
        sampler.step(records(1, 300 + n))
        sizes.append(spool.size_bytes)
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] == 0
    assert sizes[0] > 0 and sink.now <= 10 * (carrying.CARRY_S + sink.each_s)
    assert keys(sink.written) == list(range(310))


def test_what_was_written_of_new_samples_does_not_come_again(tmp_path: Path) -> None:
    sink, spool = Sink(), Spool(tmp_path / "s")
    sampler = sampler_of(sink, spool)
    sink.room = 40
    sink.each_s = carrying.CARRY_S
    sampler.step(records(100))
    assert keys(sink.written) == list(range(40))
    assert keys(spool.read(100)) == list(range(40, 100))


def test_a_sink_that_stands_still_is_replaced_and_said(tmp_path: Path) -> None:
    sink, spool = Sink(), Spool(tmp_path / "s")
    sampler = sampler_of(sink, spool)
    sink.away = True
    for n in range(13):
        sampler.step(records(1, n))
        sink.now += carrying.INTERVAL_S
    assert sink.opened == 1 + 2
    assert sampler.watch.sentence(sink.now).startswith(
        "The client that writes the samples has got nothing done for 2\u202fmin; it was replaced 2 times."
    )
    sink.away = False
    sampler.step(records(1, 13))
    assert sampler.watch.silent_s(sink.now) is None
    assert keys(sink.written) == list(range(14))


def test_a_spool_that_cannot_be_written_costs_samples_and_nothing_else(tmp_path: Path) -> None:
    """The disk is full: that ends neither the sampler nor `live` with it."""
    sink, spool = Sink(), Spool(tmp_path / "s")
    sampler = sampler_of(sink, spool)
    (tmp_path / "s").write_text("in the way")
    sink.away = True
    sampler.step(records(1, 1))
    (tmp_path / "s").unlink()
    sink.away = False
    sampler.step(records(1, 2))
    assert keys(sink.written) == [2]
