"""The client as a process of its own: its stream, its end at the deadline, and what it never shows."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.client.trials import decoded, keys, line_of, ran_of, run_alone, target, trial_of
from tests.emulated.simulated_storage import SimulatedStorage, simulated_storage
from tests.slices import long

from cloudcmp.model.protocol import RunsOtherClient
from cloudcmp.provider.local.cloud import LocalInstance
from cloudcmp.provider.simulated.storage import Distribution, Key, OperationTruth, StorageTruth

NAME = "cloudcmp-planted"
KEYS = keys(Key().access_key, Key().secret_key)
SLOW = StorageTruth(default=OperationTruth(Distribution(3.0)))


@pytest.fixture(scope="module")
def storage() -> Iterator[SimulatedStorage]:
    """A service with an empty bucket."""
    import boto3

    with simulated_storage() as found:
        boto3.client(
            "s3", region_name="us-east-1", endpoint_url=found.endpoint, aws_access_key_id=Key().access_key,
            aws_secret_access_key=Key().secret_key,
        ).create_bucket(Bucket=NAME)  # fmt: skip
        yield found


def test_a_launch_starts_it_and_no_secret_is_seen_from_outside(
    storage: SimulatedStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-of-the-controller")
    trial = trial_of("blob", 20.0, {"objects": "4", "op": "upload"})
    # A module of the launch's folder is not taken for the library.
    (tmp_path / "boto3.py").write_text("raise SystemExit(9)")
    line = line_of(target(storage.endpoint, "s3", NAME), KEYS, trial)
    instance = LocalInstance((0,), str(tmp_path), "token-of-a-lease", Path("/no/agent"))
    assert isinstance(instance, RunsOtherClient)

    async def started() -> tuple[bytes, bytes]:
        stream, visible = b"", b""
        async with instance.start_other_client(line) as channel:
            async for piece in channel.stdout():
                visible = visible or b"".join(_visible(tmp_path))
                stream += piece
        return stream, visible

    stream, visible = asyncio.run(started())
    ran = ran_of(stream, decoded(trial, stream))
    assert ran.outcome == "ok", ran
    assert ran.notes["operations"] > 0
    assert b"cloudcmp.client" in visible
    assert b"token-of-a-lease" in visible
    for text in (visible, stream):
        assert Key().secret_key.encode() not in text
        assert b"canary" not in text
    assert [path.name for path in tmp_path.iterdir()] == ["boto3.py"]


def _visible(folder: Path) -> list[bytes]:
    """The command lines and environments of the processes in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").readlink() == folder:
                found += [(process / name).read_bytes() for name in ("cmdline", "environ")]
    return found


def test_a_call_under_way_is_cut_off_at_the_deadline(storage: SimulatedStorage) -> None:
    storage.plant(SLOW)
    trial = trial_of("blob", 2.5, {"objects": "4"})
    began = time.monotonic()
    stream = run_alone(line_of(target(storage.endpoint, "s3", NAME), KEYS, trial))
    storage.plant(StorageTruth())
    result = decoded(trial, stream)
    # Either the call was silent for too long, or the deadline came first.
    assert result.outcome.value in {"timeout", "failed"}, result
    assert "deadline" in result.why or "no answer in time" in result.why
    assert time.monotonic() - began < 15.0


@long
def test_it_ends_with_its_controller(storage: SimulatedStorage) -> None:
    trial = trial_of("blob", 60.0, {"objects": "4", "duration_s": "50"})
    began = time.monotonic()
    stream = run_alone(line_of(target(storage.endpoint, "s3", NAME), KEYS, trial), hang_up_after_s=6.0)
    result = decoded(trial, stream)
    assert (result.outcome.value, "stdin has ended" in result.why) == ("aborted", True), result
    assert time.monotonic() - began < 30.0
