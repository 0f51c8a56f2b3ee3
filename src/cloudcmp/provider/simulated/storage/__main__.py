"""A simulated storage service as a process: `python -m cloudcmp.provider.simulated.storage`.

Reads its truth as JSON from the first line of standard input, writes one line of JSON with its ports, and serves until
standard input is closed. Its last line is the document of the control port: what was planted and what was counted.
"""

import asyncio
import contextlib
import gc
import json
import os
import resource
import signal
import sys
import threading

from cloudcmp.errors import UserMistake
from cloudcmp.provider.simulated.storage.control import Control, document
from cloudcmp.provider.simulated.storage.precise_loop import precise_loop
from cloudcmp.provider.simulated.storage.server import HOST, StorageServer
from cloudcmp.provider.simulated.storage.truth import StorageTruth, parse_truth


def main() -> int:
    """Runs the service; returns the exit code: 2 for a wrong truth, 3 if it made a mistake of its own."""
    try:
        truth = parse_truth(sys.stdin.buffer.readline().decode("utf-8", "replace"))
    except UserMistake as mistake:
        print(mistake, file=sys.stderr)  # noqa: T201
        return mistake.exit_code
    _allow_connections()
    with contextlib.closing(precise_loop()) as loop:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(_serve(truth))


async def _serve(truth: StorageTruth) -> int:
    loop, end = asyncio.get_running_loop(), asyncio.Event()
    mistakes: list[str] = []

    def note(_: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """A mistake of the server must not look like its planted truth."""
        mistakes.append(f"simulated storage: {context.get('message')}: {context.get('exception')!r}")
        print(mistakes[-1], file=sys.stderr, flush=True)  # noqa: T201

    loop.set_exception_handler(note)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end.set)
    storage = StorageServer(truth)
    control = Control(storage)
    await storage.start()
    await control.start()
    endpoint, control_url = f"http://{HOST}:{storage.port}", f"http://{HOST}:{control.port}/-/truth"
    _write({"endpoint": endpoint, "port": storage.port, "control": control_url, "control_port": control.port})

    def watch_input() -> None:
        # `os.read` and not `sys.stdin`: a thread inside a buffer of Python's at the end of the process aborts it
        while os.read(sys.stdin.fileno(), 65536):
            pass
        with contextlib.suppress(RuntimeError):  # a signal was first, and the loop is closed
            loop.call_soon_threadsafe(end.set)

    threading.Thread(target=watch_input, daemon=True).start()
    gc.collect()
    gc.freeze()  # what was imported is never looked at again: a collection would delay answers
    await end.wait()
    await storage.stop()
    await control.stop()
    _write(document(storage, storage.counts))
    return 3 if mistakes else 0


def _allow_connections() -> None:
    """Raises the limit on open files, so that each connection of a load can have one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _write(plain: object) -> None:
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(plain) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
