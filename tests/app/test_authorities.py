"""A service behind TLS whose certificate nobody knows: refused in one line, measured once its authority is named."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from cloudcmp.errors import UserMistake
from cloudcmp.provider.common.authorities import trust, trusted
from tests.app.storage import STUDY, environ, service
from tests.cli.command import forked
from tests.emulated.arm_tls import authority

pytestmark = pytest.mark.usefixtures("agent")


@contextmanager
def tls_before(port: int) -> Iterator[str]:
    """The URL of a port that ends TLS and hands on what comes to another port of this machine."""
    loop, ready = asyncio.new_event_loop(), threading.Event()
    urls: list[str] = []

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError):
                while piece := await reader.read(65536):
                    writer.write(piece)
                    await writer.drain()
        finally:
            writer.close()

    async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy(reader, back), copy(there, writer))

    async def serve(stop: asyncio.Event) -> None:
        server = await asyncio.start_server(between, "127.0.0.1", 0, ssl=authority()[0])
        urls.append(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        ready.set()
        await stop.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    stop = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(stop),))
    thread.start()
    ready.wait(10)
    try:
        yield urls[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


def test_an_unknown_authority_is_one_line_and_a_named_one_is_trusted_by_sdk_and_agent(tmp_path: Path) -> None:
    with service() as (storage, buckets), tls_before(storage.port) as url:
        (tmp_path / "s.yaml").write_text(STUDY.format(endpoint=url).replace("launches: 6", "launches: 1"))
        env = environ(tmp_path)
        refused = forked(["run", "s.yaml", "--out", "refused"], env, tmp_path)
        assert refused.code in {2, 3}
        assert "its certificate is not trusted" in " ".join(refused.err.split())
        assert "--ca FILE" in " ".join(refused.err.split())
        words = ["run", "s.yaml", "--out", "out", "--ca", str(authority()[1]), "--json"]
        ran = forked(words, env, tmp_path)
        assert ran.code == 0, ran.err
        assert (buckets.left(), buckets.touched()) == (set(), [])
    rates = [one for one in json.loads(ran.out)["data"]["estimates"] if one["cell"].startswith("blob_bytes_per_s")]
    assert [(one["n_ok"], one["n_started"]) for one in rates] == [(1, 1)]


@pytest.mark.parametrize("content", [b"", b"no certificate", b"\xff\xfe", b"-----BEGIN CERTIFICATE-----\nx\n"])
def test_what_is_no_authority_is_one_line(tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLOUDCMP_CA", raising=False)
    file = tmp_path / "ca.pem"
    file.write_bytes(content)
    with pytest.raises(UserMistake, match="name a PEM file of certificates"):
        trust(file)
    assert trusted() == ""
    said = forked(["sweep", "s3", "--ca", str(file)], environ(tmp_path), tmp_path)
    assert (said.code, said.out) == (2, "")
    assert len(said.err.strip().splitlines()) <= 3
