"""The recorders of all clusters in one process, and the answers to what pages ask of the past."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import redis

from broker_core.contract.moments import Question, Reply
from console.clock import now_ms
from console.live.history.recorder import Recorder
from console.live.history.store import HistoryStore
from console.live.owner.cancelling import end_all
from console.snapshot import keys
from console.snapshot.encoding import decode, encode
from console.snapshot.moments import QUESTIONS, REPLY_S, reply_list

log = logging.getLogger(__name__)
ROWS_EVERY_S = 5.0
ASK_S = 1.0
RETRY_S = 1.0


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[bool]:
    """Whether nobody else records into this folder; until the end."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


class History:
    def __init__(self, client: Any, folder: Path, limit_bytes: int, keep_ms: int, clusters: Callable[[], Awaitable[set[str]]]) -> None:
        self._redis = client
        self._folder = folder
        self._limit_bytes, self._keep_ms = limit_bytes, keep_ms
        self._clusters = clusters
        self.recorders: dict[str, tuple[Recorder, asyncio.Task[None]]] = {}

    async def run(self) -> None:
        tasks = [asyncio.create_task(self._follow()), asyncio.create_task(self._answer_all())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            await end_all([*tasks, *(task for _, task in self.recorders.values())])

    async def _follow(self) -> None:
        """A recorder for each registered cluster; the past of one that is no more is deleted."""
        while True:
            wanted = await self._clusters()
            for gone in self.recorders.keys() - wanted:
                await end_all([self.recorders.pop(gone)[1]])
                for path in self._folder.glob(f"{gone}.history*"):
                    path.unlink(missing_ok=True)
            for cluster_id in sorted(wanted - self.recorders.keys()):
                self._start(cluster_id)
            await asyncio.sleep(ROWS_EVERY_S)

    def _start(self, cluster_id: str) -> None:
        try:
            store = HistoryStore(self._folder / f"{cluster_id}.history", self._limit_bytes, self._keep_ms)
        except (OSError, sqlite3.Error) as error:
            log.warning("the past of %s cannot be kept: %s", cluster_id, error)
            return
        recorder = Recorder(cluster_id, self._redis, store, self._limit_bytes)
        self.recorders[cluster_id] = recorder, asyncio.create_task(recorder.run(), name=f"history-{cluster_id}")

    async def _answer_all(self) -> None:
        while True:
            try:
                await self._redis.set(keys.RECORDER, now_ms())
                if found := await self._redis.brpop([QUESTIONS], timeout=ASK_S):
                    await self._answer(decode(found[1], Question))
            except (redis.RedisError, OSError) as error:
                log.warning("nobody can ask about the past: %s", error)
                await asyncio.sleep(RETRY_S)

    async def _answer(self, question: Question | None) -> None:
        if question is None:
            return
        try:
            reply = await self._reply(question)
        except sqlite3.Error as error:
            reply = Reply(error=f"What is kept cannot be read: {error}")
        pipe = self._redis.pipeline(transaction=True)
        pipe.lpush(reply_list(question.id), encode(reply))
        pipe.expire(reply_list(question.id), REPLY_S)
        await pipe.execute()

    async def _reply(self, question: Question) -> Reply:
        known = self.recorders.get(question.cluster)
        if known is None:
            return Reply(error="This cluster is not recorded.", is_missing=True)
        if question.until_ms is None:
            return await known[0].lay_out(question.at_ms)
        if question.keys:
            return await known[0].tracks(question.keys, question.at_ms, question.until_ms, question.most)
        return await known[0].compare(question.at_ms, question.until_ms)
