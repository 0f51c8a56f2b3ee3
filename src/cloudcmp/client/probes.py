"""The probes of storage services through a provider's own client: what the agent's probes of the same names do."""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from cloudcmp.client import content
from cloudcmp.client.adapter import Blobs, Messages, Rows
from cloudcmp.client.content import GROUP, KEPT, UPLOADED, VALUE_BYTES, Blob, Rng, Row
from cloudcmp.client.failures import Failure, Kind, WrongBody, failed
from cloudcmp.client.load import cpu_time_s
from cloudcmp.client.operation import Done, Operation
from cloudcmp.client.tally import Record, Tally
from cloudcmp.client.trial import Run, Trial

_KEPT_BODIES = 256 * 2**20  # bytes of bodies that are made before the measured phase
_LISTED = 1000
_MESSAGES, _MESSAGES_A_LANE = 256, 4
_EMPTY_SHARE, _SETTLE_SHARE = 0.5, 0.25
_EMPTY_RECEIVES, _RIGHT_READS = 3, 3
_PAUSE_S = 0.02


def blob(trial: Trial) -> None:
    """Downloads, uploads or lists blobs."""
    client: Blobs = trial.client.measured
    preparing: Blobs = trial.client.preparing
    params = trial.job.params
    op, size, objects = params["op"], int(params["size_bytes"]), int(params["objects"])
    part = UPLOADED if op == "upload" else KEPT
    bodies: dict[int, bytes] = {}

    def body(index: int) -> bytes:
        return bodies.get(index) or Blob(part, size, index).body()

    def upload(by: Blobs, index: int) -> Operation:
        call = partial(by.upload, Blob(part, size, index).key, body(index))
        return Operation(call, lambda _: Done(size), by.tries * size, by.tries * by.requests("upload", size))

    def download(index: int) -> Operation:
        def judge(answer: bytes) -> Done:
            if answer != body(index):
                raise WrongBody(f"a body of {len(answer)} bytes that was not written, and one of {size} was")
            return Done(size)

        call, requests = partial(client.download, Blob(part, size, index).key), client.requests("download", size)
        return Operation(call, judge, client.tries * size, client.tries * requests)

    def list_(_: int) -> Operation:
        start, least = content.prefix(part, size), min(objects, _LISTED)

        def judge(names: list[str]) -> Done:
            if not least <= len(names) <= _LISTED or not all(name.startswith(start) for name in names):
                raise WrongBody(f"a list of {len(names)} names, and there are {least}")
            return Done(sum(map(len, names)))

        return Operation(partial(client.names, start), judge, 1, client.tries * client.requests("list", size))

    look = partial(preparing.size_of, Blob(part, size, objects - 1).key)
    there = trial.ask(Operation(look, lambda found: Done(0, there=found == size), 1)).there
    fills = part == KEPT and not there
    trial.out.note("objects_written", trial.fill(objects, partial(upload, preparing)) if fills else 0)
    if op != "list" and size * objects <= _KEPT_BODIES:
        bodies.update((index, body(index)) for index in range(objects))
    known: dict[str, Callable[[int], Operation]] = {"download": download, "upload": partial(upload, client)}
    operation = known.get(op, list_)
    tally = trial.measure(lambda rng: operation(rng.below(objects)))
    t_end = trial.report("blob", tally)
    trial.report_series("blob_bytes_per_s", tally.bytes_per_s(), tally.interval_s)
    trial.out.histogram("blob_first_byte_s", t_end, tally.first_bytes_ns())


def table(trial: Trial) -> None:
    """Gets or puts rows, or queries by a field that is no key."""
    client: Rows = trial.client.measured
    params = trial.job.params
    entries = -(-int(params["entries"]) // GROUP) * GROUP
    op, strong = params["op"], params["read"] == "strong"
    if op == "query" and strong and not client.strong_query:
        what = f"bad job: {trial.job.place.protocol} has no strong reads of an index, which a query by a field uses"
        raise failed(what, "use read: eventual")

    def get(index: int) -> Operation:
        own = content.row(KEPT, index)
        return Operation(partial(client.get, own, strong), partial(_is_row, own), VALUE_BYTES)

    def put(index: int) -> Operation:
        return Operation(partial(client.put, content.row(UPLOADED, index)), lambda _: Done(VALUE_BYTES), VALUE_BYTES)

    def query(index: int) -> Operation:
        own = content.group(KEPT, index, entries)
        return Operation(partial(client.query, own[0], strong), partial(_is_group, own), VALUE_BYTES * len(own))

    _fill_table(trial, trial.client.preparing, entries)
    operation = {"get": get, "put": put}.get(op, query)
    tally = trial.measure(lambda rng: operation(rng.below(entries)))
    trial.report("table", tally)
    trial.report_series("table_op_per_s", tally.rates(), tally.interval_s)


def _fill_table(trial: Trial, adapter: Rows, entries: int) -> None:
    """Fills the table, and waits until reads return what was written."""

    def look(index: int) -> bool:
        own = content.row(KEPT, index)
        return trial.ask(Operation(partial(adapter.get, own, True), lambda found: Done(0, found == own), 1)).there

    filled = (
        0 if look(entries - 1) else trial.fill(-(-entries // adapter.batch), partial(_batch, adapter, KEPT, entries))
    )
    trial.out.note("batches_written", filled)
    trial.out.note("table_has_more_rows", look(entries))
    if not filled:
        return
    own, until_s = content.group(KEPT, entries - 1, entries), time.monotonic() + _SETTLE_SHARE * trial.left_s()
    query = Operation(partial(adapter.query, own[0], False), lambda found: Done(0, sorted(found, key=_key) == own), 1)
    right = 0
    while right < _RIGHT_READS and time.monotonic() < until_s:
        right = right + 1 if look(entries - 1) and trial.ask(query).there else 0
    trial.out.note("settled", right == _RIGHT_READS)


def _batch(adapter: Rows, part: str, entries: int, number: int) -> Operation:
    """The batch of a number, of those that write all rows of a part in their order."""
    first = number * adapter.batch
    n = min(adapter.batch, entries - first)
    rows = [content.row(part, index) for index in range(first, first + n)]

    def judge(unwritten: int) -> Done:
        return Done(VALUE_BYTES * (n - unwritten), unwritten=unwritten)

    return Operation(partial(adapter.write, rows), judge, VALUE_BYTES * n)


def _is_row(own: Row, found: Row | None) -> Done:
    if found != own:
        raise WrongBody("no row, and one was written" if found is None else "another row than was written")
    return Done(VALUE_BYTES)


def _is_group(own: list[Row], found: list[Row]) -> Done:
    if sorted(found, key=_key) != own:
        raise WrongBody(f"a query with {len(found)} rows, not exactly the {len(own)} of its group")
    return Done(VALUE_BYTES * len(own))


def _key(row: Row) -> str:
    return row.k


def load(trial: Trial) -> None:
    """Writes rows in the service's own batches; the time is from the first request to the last answer."""
    client: Rows = trial.client.measured
    entries, lanes = int(trial.job.params["entries"]), int(trial.job.params["concurrency"])
    batches = -(-entries // client.batch)
    operations = [_batch(client, UPLOADED, entries, number) for number in range(batches)]
    lanes, rest, sums = min(lanes, len(operations)), iter(operations), Record()
    counts = {"written": 0, "throttled": 0, "failed": 0}
    lock, ready = threading.Lock(), threading.Barrier(lanes + 1)
    ends: list[int] = []

    def lane() -> None:
        if not trial.client.command:  # a connection for each lane, before the time begins
            trial.asker.ask(Operation(partial(client.get, content.row(UPLOADED, 0), True), lambda _: Done(0), 1))
        ready.wait()
        while True:
            with lock:
                operation = next(rest, None)
            performed = None if operation is None else trial.asker.ask(operation)
            if operation is None or performed is None:
                return
            with lock:
                rows, result = operation.payload // VALUE_BYTES, performed.result
                sums.begun += 1
                ends.append(performed.last_ns)
                if isinstance(result, Failure):
                    sums.fail(result)
                    counts["throttled" if result.kind is Kind.THROTTLED else "failed"] += rows
                    continue
                sums.unwritten += result.unwritten
                counts["written"] += rows - result.unwritten
                counts["throttled"] += result.unwritten
                sums.done(performed.began_ns, performed.first_ns, performed.last_ns, result.payload)

    threads = [threading.Thread(target=lane, daemon=True) for _ in range(lanes)]
    for one in threads:
        one.start()
    ready.wait()
    cpu_s, start_ns = cpu_time_s(), time.perf_counter_ns()
    for one in threads:
        one.join()
    cpu_s, wall_s = cpu_time_s() - cpu_s, max(1, max(ends, default=start_ns) - start_ns) * 1e-9
    trial.limiter.check()
    tally = Tally(sums, start_ns, wall_s, 1, lanes, cpu_s, wall_s)
    trial.note(tally)
    for name, count in counts.items():
        trial.out.note(f"rows_{name}", count)
    if not counts["written"]:
        failure = tally.main_failure() or Failure(Kind.THROTTLED, "the service left them all out")
        raise failed(f"none of {entries} rows was written: {failure.what}", failure.kind.advice)
    trial.out.sample("table_load_row_per_s", wall_s, counts["written"] / wall_s)


def queue(trial: Trial) -> None:
    """Sends or receives messages; a queue that is received from is kept as full as it was."""
    client: Messages = trial.client.measured
    preparing: Messages = trial.client.preparing
    size, receives = int(trial.job.params["size_bytes"]), trial.job.params["op"] == "receive"

    def send(by: Messages, rng: Rng) -> Operation:
        return Operation(partial(by.send, content.message(size, rng.next())), lambda _: Done(size), size)

    if not receives:
        tally = trial.measure(partial(send, client))
    else:
        trial.out.note("removed_before", _empty(trial, preparing))
        lanes, rng = trial.most_lanes, Rng(trial.job.seed, (1 << 64) - 1)
        messages = _MESSAGES + _MESSAGES_A_LANE * lanes
        trial.out.note(
            "messages_written", trial.fill(messages, [send(preparing, rng) for _ in range(messages)].__getitem__)
        )
        lock = threading.Lock()

        def follow_ups(done: Done) -> list[Operation]:
            with lock:
                another = send(preparing, rng)
            return [*_deletions(preparing, done), another]

        tally = trial.measure(lambda _: _receive(client, size), follow_ups)
    purged = trial.asker.ask(Operation(preparing.purge, lambda _: Done(0), 1))
    trial.out.note("purged", purged is not None and isinstance(purged.result, Done))
    trial.out.note("empty_receives", tally.all.empty)
    trial.out.note("follow_ups", tally.all.follow_ups)
    trial.out.note("follow_ups_failed", tally.all.follow_ups_failed)
    trial.report("queue", tally)
    trial.report_series("queue_op_per_s", tally.rates(), tally.interval_s)


def _receive(adapter: Messages, size: int) -> Operation:
    """Receives a message of a size; of any size if that is 0."""

    def judge(found: tuple[str, Any] | None) -> Done:
        if found is None:
            return Done(0, there=False)
        text, handle = found
        if size and not content.is_message(text, size):
            raise WrongBody(f"a message of {len(text)} bytes that was not sent, and one of {size} was")
        return Done(len(text), handle=handle)

    return Operation(adapter.receive, judge, max(1, size))


def _deletions(adapter: Messages, done: Done) -> list[Operation]:
    return [Operation(partial(adapter.delete, done.handle), lambda _: Done(0), 1)] if done.handle is not None else []


def _empty(trial: Trial, adapter: Messages) -> int:
    """Empties the queue: a purge if it holds anything, then receives until there is nothing more."""
    removed, nothing, until_s = 0, 0, time.monotonic() + _EMPTY_SHARE * trial.left_s()
    while nothing < _EMPTY_RECEIVES:
        if time.monotonic() > until_s:
            raise failed("the queue was not empty in time", "empty it, or raise deadline_s")
        done = trial.ask(_receive(adapter, 0))
        if not done.there:
            nothing += 1
            time.sleep(_PAUSE_S)
            continue
        nothing, removed = 0, removed + 1
        for one in _deletions(adapter, done):
            trial.asker.ask(one)
        if removed == 1:
            trial.asker.ask(Operation(adapter.purge, lambda _: Done(0), 1))
    return removed


PROBES: dict[str, Run] = {"blob": blob, "table": table, "load": load, "queue": queue}
"""By name."""
