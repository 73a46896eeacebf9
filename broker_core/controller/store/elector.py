"""Becoming the controller: one atomic write of `/controller` (ephemeral) and `/controller_epoch` (spec Z2).

The write names the version of `/controller_epoch` it was decided on, so of two brokers only one wins, and every later
write of the winner is fenced by the version it made. A lost reply is resolved by reading: the znode belongs to this very
session and the epoch is the one asked for, so the election was won (spec B12).
"""

from __future__ import annotations

import logging

from msgspec import Struct

from broker_core.controller.store.registrations import registered
from broker_core.coordination.layout import CONTROLLER, CONTROLLER_EPOCH, SUSPICIONS, broker_path
from broker_core.coordination.store import (
    BadVersion,
    Check,
    ConnectionLoss,
    Create,
    Delete,
    NodeExists,
    NoNode,
    SetData,
    Stat,
    Store,
    StoreError,
    Watcher,
)
from broker_core.coordination.suspicions import seen_dead, suspicions
from broker_core.coordination.znode_data import decode_controller, decode_controller_epoch, encode_controller
from broker_core.seams import Clock

log = logging.getLogger(__name__)

INITIAL_EPOCH = 0
RETRY_MS = 100


class Won(Struct, frozen=True):
    """This broker is the controller; `version` is that of `/controller_epoch`."""

    epoch: int
    version: int


class Seat(Struct, frozen=True):
    """Who is the controller (-1: unreadable); `mine` if this broker in its present session."""

    broker_id: int
    mine: bool
    version: int


class Elector:
    """Reads and contests `/controller`; `ConnectionLoss` is retried, `SessionExpired` is the caller's affair."""

    def __init__(self, store: Store, clock: Clock, broker_id: int) -> None:
        self._store = store
        self._clock = clock
        self._broker_id = broker_id

    async def seat(self, watch: Watcher) -> Seat | None:
        """The present controller, with a watch for its end or, where there is none, for the next one's beginning."""
        while True:
            try:
                return await self._seat(watch)
            except ConnectionLoss:
                await self._clock.sleep(RETRY_MS)

    async def compete(self, watch: Watcher) -> Won | Seat:
        """Tries until this broker or another is the controller; `Malformed` when the last epoch cannot be read."""
        asked: int | None = None
        while True:
            try:
                seat = await self._seat(watch)
                if seat is not None and not seat.mine:
                    return seat
                epoch, version = await self._epoch()
                if seat is not None:
                    if epoch == asked:
                        return Won(epoch, version)
                    await self._store.delete(CONTROLLER, seat.version)
                asked = epoch + 1
                return Won(asked, await self._claim(asked, version))
            except (NodeExists, NoNode, BadVersion) as error:
                log.info("The controller's election is tried again: %s", error)
            except ConnectionLoss:
                await self._clock.sleep(RETRY_MS)

    async def is_seen_dead(self, watch: Watcher) -> bool:
        """Whether most brokers say that this one's port refuses, with a watch for what they say next."""
        while True:
            try:
                told = [each for each in suspicions(await self._store.children(SUSPICIONS, watch)) if each.broker_id == self._broker_id]
                return bool(told) and self._broker_id in seen_dead(await registered(self._store), told)
            except NoNode:
                return False
            except ConnectionLoss:
                await self._clock.sleep(RETRY_MS)

    async def vacate(self) -> None:
        """Gives the office up, if this session holds it."""
        try:
            data, stat = await self._store.get(CONTROLLER)
            if self._is_mine(data, stat):
                await self._store.delete(CONTROLLER, stat.version)
        except NoNode:
            log.debug("Nobody is the controller, so the office is not given up")
        except StoreError as error:
            log.info("/controller was not deleted: %s", error)

    async def unseat(self, broker_id: int, broker_epoch: int) -> bool:
        """Frees the office if the process of that registration holds it; any `StoreError` leaves it as it is.

        The epoch's version is read first and named by the deletion, so what is deleted is what was read: a later controller would have
        raised it. Should the old one live, it is where an operator's deletion of `/controller` leaves it: its writes are good until
        another is elected and fail from then on, brokers refuse its epoch, and its watch tells it.
        """
        _, version = await self._epoch()
        registered = await self._store.exists(broker_path(broker_id))
        try:
            data, stat = await self._store.get(CONTROLLER)
        except NoNode:
            return False
        if registered is None or registered.czxid != broker_epoch or stat.ephemeral_owner != registered.ephemeral_owner:
            return False
        if _controller_id(data) != broker_id:
            return False
        await self._store.multi([Check(CONTROLLER_EPOCH, version), Delete(CONTROLLER, stat.version)])
        log.info("The office of broker %d, whose process is gone, is free before its session ends", broker_id)
        return True

    async def _seat(self, watch: Watcher) -> Seat | None:
        if await self._store.exists(CONTROLLER, watch) is None:
            return None
        try:
            data, stat = await self._store.get(CONTROLLER)
        except NoNode:
            return None
        return Seat(_controller_id(data), self._is_mine(data, stat), stat.version)

    def _is_mine(self, data: bytes, stat: Stat) -> bool:
        return stat.ephemeral_owner == self._store.session_id and _controller_id(data) == self._broker_id

    async def _epoch(self) -> tuple[int, int]:
        """The last controller's epoch and the znode's version."""
        try:
            data, stat = await self._store.get(CONTROLLER_EPOCH)
        except NoNode:
            await self._store.create(CONTROLLER_EPOCH, str(INITIAL_EPOCH).encode())
            data, stat = await self._store.get(CONTROLLER_EPOCH)
        return decode_controller_epoch(data), stat.version

    async def _claim(self, epoch: int, version: int) -> int:
        claim = Create(CONTROLLER, encode_controller(self._broker_id, self._clock.now_ms()), ephemeral=True)
        results = await self._store.multi([claim, SetData(CONTROLLER_EPOCH, str(epoch).encode(), version)])
        stat = results[1]
        assert isinstance(stat, Stat)
        return stat.version


def _controller_id(data: bytes) -> int:
    try:
        return decode_controller(data)
    except StoreError as error:
        log.error("%s", error)
        return -1
