"""The server's side of one connection: frames in, one at a time, answers out (spec N1).

Bytes arrive in a scratch buffer that all connections of a listener share (it is used up before the next one reads), so
an idle connection holds no memory. A frame that does not fit in one read gets a buffer of its own (one used before,
where there is a spare one), which grows as bytes arrive and as the memory budget lets it; what a client sends ahead
of its answer is kept up to `READ_AHEAD_BYTES`, then reading pauses; so it does while the request queue is full.
Complete frames are served in turns, between which other connections have theirs (`request_queue.py`): at once in the callback
that read them, in a task from where they first wait for something (`eager.py`). The small answers of a turn leave in one write;
those that wait for other brokers leave when they are there, in the order of their requests (`unanswered.py`).
Once an answer told its client to wait for a quota, nothing more is read or begun here for that time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

from broker_core.errors import ProtocolViolation
from broker_core.seams import FrameHandler, Part
from broker_core.server.adapters.eager import begin
from broker_core.server.adapters.framing import SIZE
from broker_core.server.adapters.memory_budget import Account, MemoryBudget
from broker_core.server.adapters.request_queue import RequestQueue
from broker_core.server.adapters.response_writer import ResponseWriter
from broker_core.server.adapters.spare_buffers import SpareBuffers
from broker_core.server.adapters.turn import Turn
from broker_core.server.adapters.unanswered import AnswerLine, Unanswered

logger = logging.getLogger(__name__)

SCRATCH_BYTES = 64 * 1024
READ_AHEAD_BYTES = 64 * 1024
TASK = "requests of one connection"


class Host(Protocol):
    """What a connection needs of its listener."""

    scratch: memoryview
    budget: MemoryBudget
    queue: RequestQueue
    spares: SpareBuffers

    def broken(self) -> None: ...

    def max_request_bytes(self) -> int: ...

    def opened(self, connection: ServerConnection, transport: asyncio.Transport) -> FrameHandler | None: ...

    def active(self, connection: ServerConnection) -> None: ...

    def gone(self, connection: ServerConnection) -> None: ...


class ServerConnection(asyncio.BufferedProtocol):
    """`busy` while a request waits for its turn or is being handled: such a connection is not idle, however long that takes."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._ahead = bytearray()
        self._frame: bytearray | None = None
        self._frame_bytes = 0
        self._room = 0
        self._filled = 0
        self._account = Account(self._granted)
        self._waits_for_budget = False
        self._waits_for_queue = False
        self._was_let_on = False
        self._waits_for_turn = False
        self._is_new = True
        self._in_turn = False
        self._task: asyncio.Task[None] | None = None
        self._queued_at = 0.0
        self._unanswered = AnswerLine(self._leave)
        self._gathered: list[Unanswered] = []
        self._ending = False
        self._muted: asyncio.TimerHandle | None = None
        self._muted_until = 0.0
        self._unmuted: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport
        self._writer: ResponseWriter
        self._handler: FrameHandler | None = None
        self.writing = False

    @property
    def busy(self) -> bool:
        return (self._is_serving or self._unanswered.count > 0) and not self.writing

    @property
    def _is_serving(self) -> bool:
        return self._waits_for_turn or self._in_turn

    # From the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._handler = self._host.opened(self, transport)
        if self._handler is not None:
            self._writer = ResponseWriter(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        handler, self._handler = self._handler, None
        if handler is None:
            return
        if not self._account.handling:
            self._host.budget.release(self._account)
        if self._muted is not None:
            self._muted.cancel()
            self._tell_unmuted()
        self._writer.resume()
        self._unanswered.close()
        self._host.gone(self)
        handler.closed()

    def pause_writing(self) -> None:
        self._writer.pause()

    def resume_writing(self) -> None:
        self._writer.resume()

    def get_buffer(self, sizehint: int) -> memoryview:
        was_let_on, self._was_let_on = self._was_let_on, False
        if self._host.queue.may_read(was_let_on=was_let_on):
            return self._buffer()
        self._waits_for_queue = True
        self._transport.pause_reading()
        self._host.queue.wait(self._host, self._has_queue_room, first=was_let_on)
        return self._buffer()[:1]

    def _buffer(self) -> memoryview:
        if self._frame is None or self._complete:
            return self._host.scratch
        if len(self._frame) < self._room:
            self._frame.extend(bytes(self._room - len(self._frame)))
        return memoryview(self._frame)[self._filled : self._room]

    def buffer_updated(self, nbytes: int) -> None:
        self._host.active(self)
        if self._frame is not None and not self._complete:
            self._filled += nbytes
            self._go_on()
            return
        self._ahead += self._host.scratch[:nbytes]
        if not self._is_serving and self._frame is None:
            self._start_frame(new=True)
        elif len(self._ahead) >= READ_AHEAD_BYTES:
            self._transport.pause_reading()

    def _has_queue_room(self) -> None:
        self._waits_for_queue = False
        self._was_let_on = True
        self._read_on()

    def _read_on(self) -> None:
        """Reads again unless something else still forbids it."""
        is_ahead = self._is_serving and len(self._ahead) >= READ_AHEAD_BYTES
        if not (is_ahead or self._waits_for_budget or self._waits_for_queue or self._muted or self._ending):
            self._transport.resume_reading()

    # Frames.

    def _start_frame(self, *, new: bool) -> None:
        """Starts on the next frame if its size has arrived; it is `new` if its last bytes have just been read."""
        if self._handler is None or self._ending or self._transport.is_closing() or len(self._ahead) < SIZE.size:
            return
        (size,) = SIZE.unpack_from(self._ahead)
        if not 0 < size <= self._host.max_request_bytes():
            self._host.broken()
            self._hang_up(f"a frame of {size} bytes was announced; the limit is {self._host.max_request_bytes()}")
            return
        self._frame_bytes = size
        begun = self._ahead[SIZE.size : SIZE.size + size]
        self._filled = self._room = len(begun)
        self._frame = begun
        if size > SCRATCH_BYTES:
            self._frame = self._host.spares.take()
            self._frame[: len(begun)] = begun
        del self._ahead[: SIZE.size + size]
        self._host.budget.charge(self._account, self._filled)
        self._go_on(new=new)

    @property
    def _complete(self) -> bool:
        return self._frame is not None and self._filled == self._frame_bytes

    def _go_on(self, *, new: bool = True) -> None:
        """Has the frame handled when it is complete; otherwise sees that there may be more of it."""
        assert self._frame is not None
        if self._complete:
            if not (self._in_turn or self._muted):
                self._queued_at = self._loop.time()
                self._waits_for_turn, self._is_new = True, new
                self._host.queue.enter(self._host, self._begin, new=new)
        elif self._filled == self._room:
            self._make_room()

    def _make_room(self) -> None:
        """Lets as much again of the frame come in, or waits for the budget."""
        chunk = min(self._frame_bytes - self._room, max(SCRATCH_BYTES, self._room))
        if self._host.budget.take(self._account, chunk):
            self._room += chunk
        else:
            self._waits_for_budget = True
            self._transport.pause_reading()

    def _granted(self) -> None:
        self._loop.call_soon(self._try_again)

    def _try_again(self) -> None:
        if self._waits_for_budget and self._handler is not None:
            self._waits_for_budget = False
            self._read_on()
            self._go_on()

    # Requests.

    def _begin(self) -> None:
        self._waits_for_turn = False
        self._in_turn = True
        if self._frame is not None and len(self._frame) > SCRATCH_BYTES:
            # The transport still looks into the frame's buffer, which could not be used again.
            self._task = self._loop.create_task(self._serve(), name=TASK)
            return
        self._task = begin(self._loop, self._serve(), name=TASK)
        self._send_gathered()

    async def _serve(self) -> None:
        """One turn: handles the complete frame and some that came after it. Those have waited for their connection, not for the
        broker; the one that the turn leaves stands in line with the rest."""
        self._host.queue.begun(new=self._is_new)
        began_at = self._loop.time()
        waited_ms = (began_at - self._queued_at) * 1000.0
        turn = Turn(began_at * 1000.0)
        try:
            while self._complete and self._handler is not None:
                await self._serve_one(self._handler, waited_ms)
                waited_ms = 0.0
                if not turn.served(self._loop.time() * 1000.0) or self._muted:
                    break
                self._start_frame(new=False)
            await self._send_all()
        except (ProtocolViolation, OSError) as error:
            self._hang_up(str(error))
        except Exception:
            logger.exception("a request failed and its connection is closed")
            self._hang_up("a request failed")
        finally:
            self._in_turn = False
            self._task = None
            self.writing = False
        self._host.active(self)
        if self._frame is None:
            self._start_frame(new=False)
        elif self._complete:
            self._go_on(new=False)
        self._read_on()

    async def _serve_one(self, handler: FrameHandler, waited_ms: float) -> None:
        """Has the frame handled. Its answer is sent, or joins those that wait or are sent together."""
        frame = self._frame
        assert frame is not None
        view = memoryview(frame)[: self._frame_bytes]
        if self._unanswered.count and (self._unanswered.full or not handler.may_follow(view)):
            await self._unanswered.emptied()
        if self._muted is not None:
            await self._heard_again()
        if self._handler is None:
            return
        self._frame = None
        self._host.budget.start_handling(self._account)
        try:
            exchange = await handler.handle(view)
        finally:
            self._host.budget.release(self._account)
        del view
        if len(frame) > SCRATCH_BYTES:
            self._host.spares.give_back(frame)
        if exchange.waits_for is not None or self._unanswered.count:
            self._unanswered.add(Unanswered(exchange, waited_ms))
        elif self._handler is not None:
            await self._send(Unanswered(exchange, waited_ms))

    # Answers.

    async def _send(self, one: Unanswered) -> None:
        parts = self._answer(one)
        if parts is not None and not self._writer.put(parts):
            began_at = self._loop.time()
            self.writing = True
            await self._writer.write(parts)
            self.writing = False
            self._sent(began_at)
            one.exchange.sent(one.waited_ms, (self._loop.time() - began_at) * 1000.0)
        elif parts is not None:
            self._gathered.append(one)
        else:
            one.exchange.sent(one.waited_ms, 0.0)

    def _leave(self, leaving: Sequence[Unanswered]) -> None:
        """Sends those whose turn it is in one write, whatever the transport still holds: they are small, and few."""
        for one in leaving:
            parts = self._answer(one)
            if self._handler is None:
                continue
            if parts is not None:
                self._writer.put_all(parts)
            self._gathered.append(one)
        self._send_gathered()
        if self._ending and not self._unanswered.count:
            self._transport.close()

    def _send_gathered(self) -> None:
        if self._gathered:
            began_at = self._loop.time()
            self._writer.flush()
            self._sent(began_at)

    def _sent(self, began_at: float) -> None:
        """What was gathered has left with what was written."""
        sending_ms = (self._loop.time() - began_at) * 1000.0
        for exchange, waited_ms in self._gathered:
            exchange.sent(waited_ms, sending_ms)
        self._gathered.clear()

    async def _send_all(self) -> None:
        """Sends what was gathered, and goes on when the transport wants more."""
        self._send_gathered()
        if self._handler is not None:
            self.writing = True
            await self._writer.drained()
            self.writing = False

    def _answer(self, one: Unanswered) -> list[Part] | None:
        parts = one.exchange.answer()
        if one.exchange.throttled_ms > 0 and self._handler is not None:
            self._mute(one.exchange.throttled_ms / 1000.0)
        return parts

    # Quotas.

    def _mute(self, seconds: float) -> None:
        until = self._loop.time() + seconds
        if until <= self._muted_until:
            return
        if self._muted is not None:
            self._muted.cancel()
        self._transport.pause_reading()
        self._muted_until = until
        self._muted = self._loop.call_at(until, self._unmute)

    async def _heard_again(self) -> None:
        """For a frame whose turn had come already when an answer before it told the client to wait."""
        while self._muted is not None and self._handler is not None:
            self._unmuted = self._loop.create_future()
            await self._unmuted

    def _tell_unmuted(self) -> None:
        unmuted, self._unmuted = self._unmuted, None
        if unmuted is not None and not unmuted.done():
            unmuted.set_result(None)

    def _unmute(self) -> None:
        """Goes on with what came before, as after a turn, or with what comes now."""
        self._muted = None
        self._host.active(self)
        self._tell_unmuted()
        if not self._is_serving:
            if self._frame is None:
                self._start_frame(new=False)
            elif self._complete:
                self._go_on(new=False)
        self._read_on()

    # The end.

    def _hang_up(self, reason: str) -> None:
        """Closes the connection once what came before is answered; nothing more is read."""
        if self._ending:
            return
        logger.info("connection closed", extra={"reason": reason})
        self._ending = True
        self._transport.pause_reading()
        if self._handler is not None:
            self._send_gathered()
        if not self._unanswered.count:
            self._transport.close()

    def abort(self) -> None:
        """Ends the connection at once, also in the middle of an answer."""
        if self._task is not None and self.writing:
            self._task.cancel()
        self._transport.abort()
