"""A shell command on this machine that serves a service, from start to certain end."""

import asyncio
import subprocess
from collections.abc import Mapping
from pathlib import Path

from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.local.process import kill_group, parent_death_command, pauses

_LOG = "server.log"
_WORDS_BYTES = 2000
_REAP_S = 5.0


class ServerProcess:
    """A shell command in its own session, whose output goes to a file in its folder. Use it as an async context."""

    def __init__(self, command: str, folder: Path, environ: Mapping[str, str]) -> None:
        self._command = [*parent_death_command(), "/bin/sh", "-c", command]
        self._folder = folder
        self._environ = dict(environ)

    async def __aenter__(self) -> "ServerProcess":
        with (self._folder / _LOG).open("wb") as log:
            self._popen = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env=self._environ,
                start_new_session=True,
            )
        return self

    def ended(self) -> str | None:
        """Its exit code and the end of its output, None while it runs."""
        code = self._popen.poll()
        if code is None:
            return None
        words = (self._folder / _LOG).read_bytes()[-_WORDS_BYTES:].decode("utf-8", errors="replace")
        return one_line(f"exit {code}: {words.strip().splitlines()[-1] if words.strip() else 'it printed nothing'}")

    async def __aexit__(self, *_: object) -> None:
        kill_group(self._popen.pid)
        for pause_s in pauses(_REAP_S):
            if self._popen.poll() is not None:
                return
            await asyncio.sleep(pause_s)
