"""Sees that another broker's process is dead at once, by its connection, and agrees on it with others through the store.

Each broker keeps one silent connection to each other. A process that dies resets it, and its port refuses; so says an ephemeral znode
below `/broker_suspicions`, until the port answers again. Silence says nothing: a pause or a cut stays with the session. Nor does a
port that never answered here. What follows is decided by `deciders/suspicion`: the controller leaves such brokers out when it reads who is
registered (`term`), and of a dead controller the others free the office (`Elector.unseat`), for which all compete as ever.

From the first refusal until that is decided clients are told here that what the broker leads has no leader (`MetadataCache.doubt`): so they
ask again soon. Those that are told the old name take it for good for a while: librdkafka asks once, at the moment when the connection
breaks, and then every second. The broker itself stays among those named to clients as long (`MetadataCache.named_brokers`).

Why that is safe: the controller does what it does when a session expires, and nothing of that relies on the session's end. A broker that is
wrongly taken for dead cannot commit, as its followers left for a higher leader epoch, nor change an ISR, as the states' versions moved
on; the last member of an ISR stays in it, so nobody else is elected.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from broker_core.config import ConfigHolder
from broker_core.controller.deciders.suspicion import agreed_dead
from broker_core.controller.store.elector import Elector
from broker_core.controller.store.registrations import registered
from broker_core.coordination.layout import SUSPICIONS, suspicion_path
from broker_core.coordination.store import NodeExists, NoNode, SessionExpired, SessionState, StoreError, WatchEvent
from broker_core.coordination.suspicions import Suspicion, is_agreed, suspicions
from broker_core.model import BrokerInfo
from broker_core.seams import FrameConnection, Node, TimerHandle
from broker_core.tasks import end_task

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_MS = 2_000
REFUSALS = 2
QUICK_MS = 20.0
"""Between the refusals of a port that has just begun to refuse: so a death is known after some 25 ms."""
DYING_MS = 5.0
"""A process that dies may still take a connection after another broke, and break that one, too."""
HASTE_MS = 1_000.0
"""So long after a lasting connection broke, what is broken off is tried again soon."""
SLOW_MS = 500.0
"""While it is known to be dead, or silent, or hangs up on us."""
LASTING_MS = 1_000.0
RETRY_MS = 200.0
DOUBT_MS = 1_200.0
"""By then the others have agreed, or do not, and librdkafka has asked, which it does every second."""


class Peer(Struct, eq=False):
    """Another broker's registration, and what its port says."""

    info: BrokerInfo
    task: asyncio.Task[None] | None = None
    refusals: int = 0
    met: bool = False
    """It has answered here once."""
    hasty_until_ms: float = 0.0

    @property
    def is_dead(self) -> bool:
        return self.met and self.refusals >= REFUSALS


class Vigil:
    """Of one broker, from its registration to its end. Its task alone reads and writes the store."""

    def __init__(self, node: Node, broker_id: int, config: ConfigHolder, doubt: Callable[[int, bool], None]) -> None:
        """`doubt` is told of a broker whether it is doubted now that what it leads is led."""
        self._node = node
        self._doubt = doubt
        self._doubts: dict[int, TimerHandle] = {}
        self._broker_id = broker_id
        self._config = config
        self._elector = Elector(node.store, node.clock, broker_id)
        self._peers: dict[int, Peer] = {}
        self._due = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._node.store.add_listener(self._session_changed)
        self._due.set()
        self._task = self._node.spawn(self._run(), name="vigil")

    async def stop(self) -> None:
        await end_task(self._task)
        self._task = None
        for broker_id, peer in self._peers.items():
            await end_task(peer.task)
            self._trust(broker_id)
        self._peers = {}

    def look(self) -> None:
        """Something may have changed; also: the broker is registered in a new session."""
        self._due.set()

    def _changed(self, _event: WatchEvent, _path: str) -> None:
        self._due.set()

    def _session_changed(self, state: SessionState) -> None:
        if state is SessionState.CONNECTED:
            self._due.set()

    async def _run(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            try:
                await self._look()
            except SessionExpired:
                log.info("the vigil goes on once the broker is registered again")
            except StoreError as error:
                log.info("the vigil looks again: %s", error)
                await self._node.clock.sleep(RETRY_MS)
                self._due.set()

    async def _look(self) -> None:
        if self._node.store.session_id == 0:
            return
        brokers = await registered(self._node.store, self._changed)
        self._watch_over(brokers if is_agreed(brokers) else {})
        told = suspicions(await self._node.store.children(SUSPICIONS, self._changed))
        await self._say(told)
        for broker_id in agreed_dead(self._broker_id, brokers, told):
            await self._elector.unseat(broker_id, brokers[broker_id].epoch)

    def _watch_over(self, brokers: Mapping[int, BrokerInfo]) -> None:
        """One task for each registration of another broker."""
        for broker_id, peer in list(self._peers.items()):
            if brokers.get(broker_id) != peer.info:
                del self._peers[broker_id]
                self._trust(broker_id)
                if peer.task is not None:
                    peer.task.cancel()
        for broker_id, info in brokers.items():
            if broker_id != self._broker_id and broker_id not in self._peers:
                self._peers[broker_id] = peer = Peer(info)
                peer.task = self._node.spawn(self._watch(peer), name=f"vigil over broker {broker_id}")

    async def _say(self, told: Sequence[Suspicion]) -> None:
        """Takes back what is no longer so, and says what is: the watch on the list then brings the next look."""
        dead = [Suspicion(broker_id, peer.info.epoch, self._broker_id) for broker_id, peer in self._peers.items() if peer.is_dead]
        said = [each for each in told if each.witness == self._broker_id]
        for each in said:
            if each not in dead:
                await self._take_back(each)
        for each in dead:
            if each not in said:
                await self._create(each)

    async def _create(self, suspicion: Suspicion) -> None:
        try:
            await self._node.store.create(suspicion_path(*suspicion), b"", ephemeral=True)
        except NodeExists:
            self._due.set()

    async def _take_back(self, suspicion: Suspicion) -> None:
        try:
            await self._node.store.delete(suspicion_path(*suspicion))
        except NoNode:
            self._due.set()

    async def _watch(self, peer: Peer) -> None:
        while True:
            await self._node.clock.sleep(await self._reach(peer))

    async def _reach(self, peer: Peer) -> float:
        """Tries once, and holds the connection as long as it lasts; milliseconds until the next try."""
        endpoint = peer.info.inter_broker(self._config.static.inter_broker_listener_name)
        try:
            connection = await self._node.network.connect(endpoint.host, endpoint.port, timeout_ms=CONNECT_TIMEOUT_MS)
        except ConnectionRefusedError:
            return self._note(peer, peer.refusals + 1)
        except (ConnectionError, TimeoutError):
            return SLOW_MS
        peer.met = True
        self._note(peer, 0)
        since_ms = self._node.clock.monotonic_ms()
        await _until_gone(connection)
        now_ms = self._node.clock.monotonic_ms()
        if now_ms - since_ms >= LASTING_MS:
            peer.hasty_until_ms = now_ms + HASTE_MS
            return 0.0
        return DYING_MS if now_ms < peer.hasty_until_ms else SLOW_MS

    def _note(self, peer: Peer, refusals: int) -> float:
        was_dead, peer.refusals = peer.is_dead, refusals
        if peer.is_dead != was_dead:
            self._due.set()
        if not refusals:
            self._trust(peer.info.broker_id)
        elif refusals == 1 and peer.met:
            self._distrust(peer.info.broker_id)
        return SLOW_MS if peer.is_dead or not peer.met else QUICK_MS

    def _distrust(self, broker_id: int) -> None:
        """For as long as the others are asked: a broker that refuses this one alone leads on for all."""
        self._trust(broker_id)
        self._doubts[broker_id] = self._node.clock.call_later(DOUBT_MS, self._trust, broker_id)
        self._doubt(broker_id, True)

    def _trust(self, broker_id: int) -> None:
        timer = self._doubts.pop(broker_id, None)
        if timer is not None:
            timer.cancel()
            self._doubt(broker_id, False)


async def _until_gone(connection: FrameConnection) -> None:
    try:
        while True:
            await connection.receive()
    except ConnectionError:
        return
    finally:
        connection.close()
