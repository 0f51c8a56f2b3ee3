"""The server of a simulated storage service: connections on loopback, and what happens to each request."""

import asyncio
import time
from collections.abc import Callable

from cloudcmp.provider.simulated.storage import queues, tables
from cloudcmp.provider.simulated.storage.arrival import ArrivalSocket
from cloudcmp.provider.simulated.storage.blobs import Blobs
from cloudcmp.provider.simulated.storage.connection import Connection, Reply
from cloudcmp.provider.simulated.storage.counts import Counts, OperationCounts
from cloudcmp.provider.simulated.storage.http_message import Answer, Head
from cloudcmp.provider.simulated.storage.request import Call, CallContext, Dialect, ServiceError, Wait
from cloudcmp.provider.simulated.storage.schedule import Draws, Schedule, TokenBucket
from cloudcmp.provider.simulated.storage.signature import verify
from cloudcmp.provider.simulated.storage.truth import WRITES, Operation, StorageTruth

HOST = "127.0.0.1"
_REFUSED = frozenset({"throttled", "failed"})


class StorageServer:
    """One in-memory store that speaks S3, DynamoDB and SQS on one port, as its truth says.

    `plant` and `reset` may be called at any time between requests.
    """

    def __init__(self, truth: StorageTruth, clock: Callable[[], float] = time.time) -> None:
        self._unix = clock
        self._begin_s = time.monotonic()
        self.counts = Counts()
        self._plant(truth)
        self._blobs, self._tables, self._queues = Blobs(truth), tables.Tables(truth), queues.Queues(truth)
        self._server: asyncio.Server | None = None
        self._arrived_s: dict[int, float] = {}
        self._open: set[Connection] = set()

    @property
    def truth(self) -> StorageTruth:
        """The truth that is planted now."""
        return self._truth

    @property
    def port(self) -> int:
        """The port that it listens on, once it has started."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def start(self, port: int = 0) -> None:
        """Listens on loopback, on any free port by default."""
        listening = ArrivalSocket.listening(HOST, port)
        self._arrived_s = listening.arrived_s
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self), sock=listening, backlog=4096)

    async def stop(self) -> None:
        """Ends all connections and stops listening."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._open):
            connection.abort()
        await asyncio.sleep(0)

    def plant(self, truth: StorageTruth) -> None:
        """Behaves as another truth says from now on: its draws and its queue begin anew, stored data stays.

        Stalls are counted from the server's start.
        """
        self._plant(truth)
        for dialect in (self._blobs, self._tables, self._queues):
            dialect.truth = truth

    def reset(self) -> Counts:
        """Begins to count anew, and returns the counts so far."""
        counts, self.counts = self.counts, Counts()
        return counts

    def _plant(self, truth: StorageTruth) -> None:
        self._truth = truth
        self._schedule = Schedule(truth)
        self._draws = {operation: Draws(truth.of(operation), operation, truth.seed) for operation in Operation}
        self._limit = None if truth.limit is None else TokenBucket(truth.limit)

    # What connections ask.

    def now_s(self) -> float:
        """Seconds since the server's start."""
        return time.monotonic() - self._begin_s

    def arrival_s(self, descriptor: int) -> float:
        """When the bytes that were last read of a connection arrived, in seconds since the server's start."""
        return self._arrived_s.get(descriptor, time.monotonic()) - self._begin_s

    def unix_s(self) -> float:
        """The service's clock, as Unix time in seconds."""
        return self._unix() + self._truth.clock_offset_s

    def opened(self, connection: Connection) -> None:
        """Notes a connection that a client opened."""
        self.counts.connections += 1
        self._open.add(connection)

    def closed(self, connection: Connection) -> None:
        """Notes a connection that has ended."""
        self._open.discard(connection)

    def malformed(self) -> None:
        """Notes bytes that are no request."""
        self.counts.malformed += 1

    def early_refusal(self, head: Head) -> Answer | None:
        """The refusal of a request whose body has not come; None if it is welcome so far."""
        dialect = self._dialect(head)
        refusal = verify(self._truth, dialect.service, head, None, self.unix_s)
        if refusal is None:
            return None
        answer, counts = dialect.error(dialect.refusal(refusal), head), self.counts.operations[Operation.CONTROL]
        counts.requests += 1
        counts.codes[answer.code] += 1
        counts.outcomes["refused"] += 1
        return answer

    def take(self, head: Head, body: bytes, begun_s: float, arrival_s: float, connection: Connection) -> None:
        """Serves a request whose first byte came at `begun_s` and whose last one came at `arrival_s`."""
        dialect = self._dialect(head)
        url = f"http://{head.headers.get('host', '')}"
        try:
            call = dialect.call(head, body, url)
        except ServiceError as error:
            unknown = Call(head, body, "", Operation.CONTROL, url)
            self._refuse(dialect, unknown, error, arrival_s, connection)
            return
        refusal = verify(self._truth, dialect.service, head, body, self.unix_s)
        if refusal is not None:
            self._refuse(dialect, call, dialect.refusal(refusal), arrival_s, connection)
            return
        draws = self._draws[call.operation]
        if draws.truth.bytes_per_s and call.operation is Operation.BLOB_PUT:
            arrival_s = max(arrival_s, begun_s + len(body) / draws.truth.bytes_per_s)
        over_limit = self._limit is not None and call.operation is not Operation.CONTROL
        fault = draws.fault()
        if over_limit and self._limit is not None and not self._limit.take(arrival_s):
            fault = "throttled"
        if fault in _REFUSED:
            planted = dialect.throttled if fault == "throttled" else dialect.failed
            self._refuse(dialect, call, planted, arrival_s, connection, fault)
            return
        self._serve_or_wait(dialect, call, fault, arrival_s, None, connection)

    def _serve_or_wait(
        self,
        dialect: Dialect,
        call: Call,
        fault: str,
        arrival_s: float,
        deadline_s: float | None,
        connection: Connection,
    ) -> None:
        """Serves a call, or has it wait until `deadline_s`, or until its own deadline if that is None."""
        try:
            wait = dialect.wait(call, arrival_s)
        except ServiceError as error:
            self._refuse(dialect, call, error, arrival_s, connection)
            return
        deadline_s = wait.deadline_s if wait is not None and deadline_s is None else deadline_s
        if wait is None or deadline_s is None or arrival_s >= deadline_s:
            self._serve(dialect, call, fault, arrival_s, connection)
            return
        self._look_again(dialect, call, fault, wait, deadline_s, connection)

    def _look_again(
        self, dialect: Dialect, call: Call, fault: str, wait: Wait, deadline_s: float, connection: Connection
    ) -> None:
        loop = asyncio.get_running_loop()

        def look() -> None:
            wait.waiters.discard(wake)
            timer.cancel()
            if not connection.is_closed:
                self._serve_or_wait(dialect, call, fault, self.now_s(), deadline_s, connection)

        def wake() -> None:
            wait.waiters.discard(wake)
            loop.call_soon(look)

        timer = loop.call_at(self._begin_s + min(wait.look_s, deadline_s), look)
        wait.waiters.add(wake)

    def _serve(self, dialect: Dialect, call: Call, fault: str, arrival_s: float, connection: Connection) -> None:
        draws, counts = self._draws[call.operation], self.counts.operations[call.operation]
        service_s = draws.service_s()
        answer_s = self._schedule.answer_at(arrival_s, service_s)
        propagation_s = draws.propagation_s() if call.operation in WRITES else 0.0
        everywhere_s = answer_s + propagation_s if propagation_s else arrival_s
        context = CallContext(arrival_s, answer_s, everywhere_s, self.unix_s(), draws, counts)
        counts.requests += 1
        counts.service_s.append(service_s)
        counts.response_s.append(answer_s - arrival_s)
        outcome = fault or "answered"
        try:
            answer = dialect.serve(call, context)
            if call.operation in WRITES:
                counts.propagation_s.append(propagation_s)
        except ServiceError as error:
            answer, outcome = dialect.error(error, call.head), fault or "refused"
            counts.codes[answer.code] += 1
        if call.operation is Operation.BLOB_GET and answer.status == 200:
            counts.payload_bytes_out += len(answer.body)
        self._send(call, answer, outcome, answer_s, connection, answer_s - arrival_s)

    def _refuse(
        self,
        dialect: Dialect,
        call: Call,
        error: ServiceError,
        arrival_s: float,
        connection: Connection,
        outcome: str = "refused",
    ) -> None:
        """Answers a request that is not carried out."""
        answer, counts = dialect.error(error, call.head), self.counts.operations[call.operation]
        counts.requests += 1
        counts.codes[answer.code] += 1
        self._send(call, answer, outcome, self._schedule.refusal_at(arrival_s), connection)

    def _send(
        self,
        call: Call,
        answer: Answer,
        outcome: str,
        answer_s: float,
        connection: Connection,
        response_s: float | None = None,
    ) -> None:
        """Sends an answer at its moment; `response_s` is its planted time, if it was served."""
        draws, counts = self._draws[call.operation], self.counts.operations[call.operation]
        answer, outcome = spoil(answer, outcome, draws)
        cut = draws.place() if outcome == "cut" else None
        paced = draws.truth.bytes_per_s if call.operation is Operation.BLOB_GET and answer.status == 200 else 0.0
        reply = Reply(
            call.head,
            answer,
            self._begin_s + answer_s,
            paced,
            cut,
            outcome == "silent",
            ended(counts, outcome, response_s),
        )
        connection.reply(reply)

    def _dialect(self, head: Head) -> Dialect:
        target = head.headers.get("x-amz-target", "")
        if target.startswith(tables.TARGET):
            return self._tables
        return self._queues if target.startswith(queues.TARGET) else self._blobs


def ended(counts: OperationCounts, outcome: str, response_s: float | None) -> Callable[[float | None], None]:
    """What a connection calls once it has answered, with how late in seconds; None if its client was gone before."""

    def count(late_s: float | None) -> None:
        counts.outcomes["abandoned" if late_s is None else outcome] += 1
        if late_s is not None and outcome != "silent":
            counts.late_s.append(late_s)
            if response_s is not None:
                counts.sent_s.append(response_s + late_s)

    return count


def spoil(answer: Answer, outcome: str, draws: Draws) -> tuple[Answer, str]:
    """The answer with its body spoiled as the fault `outcome` says; where there is no body to spoil, as it is."""
    body = answer.body
    if outcome not in {"wrong_body", "short_body", "long_body"}:
        return answer, outcome
    if not body or answer.status >= 300:
        return answer, "answered"
    place = int(draws.place() * len(body))
    if outcome == "wrong_body":
        body = body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :]
    elif outcome == "short_body":
        body = body[:place]
    else:
        body += body[: place + 1]
    return Answer(answer.status, body, answer.headers, answer.code), outcome
