"""Studies of an S3-compatible service: the real command against a simulated one that checks signatures."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cloudcmp.provider.simulated.storage import Key, StorageTruth
from tests.cli.command import COMMAND
from tests.emulated.simulated_storage import SimulatedStorage, simulated_storage

KEY = Key()
STUDY = """\
schema: 1
question: How fast is it?
candidates:
  - {{provider: s3, name: one, service: blob, endpoint: "{endpoint}", from: local}}
probes:
  - {{probe: blob, params: {{op: download, objects: 4, duration_s: 0.1}}}}
launches: 6
runs: 1
"""
LOOK_ALIKES = ("cloudcmp-backup", f"cloudcmp-{'ab' * 16}-7fffffff", "other")
"""Buckets of other people: one whose name begins alike, one of another study, and one that has nothing of ours."""


@dataclass
class Toll:
    """What killed studies left: buckets, and look-alikes that were touched."""

    deaths: int = 0
    wrong: list[str] = field(default_factory=list)


class Buckets:
    """The service as AWS's own client sees it."""

    def __init__(self, storage: SimulatedStorage) -> None:
        import boto3
        from botocore.config import Config

        self.client: Any = boto3.client(
            "s3", region_name="us-east-1", endpoint_url=storage.endpoint, aws_access_key_id=KEY.access_key,
            aws_secret_access_key=KEY.secret_key, config=Config(s3={"addressing_style": "path"}),
        )  # fmt: skip

    def names(self) -> set[str]:
        """All buckets."""
        return {one["Name"] for one in self.client.list_buckets()["Buckets"]}

    def make_look_alikes(self) -> None:
        """Buckets that must survive everything, with an object each."""
        for name in LOOK_ALIKES:
            self.client.create_bucket(Bucket=name)
            self.client.put_object(Bucket=name, Key="precious", Body=b"x")
        tags = [{"Key": "cloudcmp:study", "Value": "another-study"}, {"Key": "cloudcmp:schema", "Value": "1"}]
        self.client.put_bucket_tagging(Bucket=LOOK_ALIKES[1], Tagging={"TagSet": tags})

    def touched(self) -> list[str]:
        """The look-alikes that are no longer whole."""
        return [name for name in LOOK_ALIKES if not self._whole(name)]

    def _whole(self, name: str) -> bool:
        listed = self.client.list_objects_v2(Bucket=name).get("Contents") or ()
        return name in self.names() and [one["Key"] for one in listed] == ["precious"]


@contextmanager
def service(truth: StorageTruth | None = None) -> Iterator[tuple[SimulatedStorage, Buckets]]:
    """A simulated service with look-alikes in it."""
    with simulated_storage(truth) as storage:
        buckets = Buckets(storage)
        buckets.make_look_alikes()
        yield storage, buckets


def environ(home: Path, storage: SimulatedStorage | None = None) -> dict[str, str]:
    """An environment with the key of the service and a home; with a service, its endpoint too."""
    own = {"HOME": str(home), "AWS_ACCESS_KEY_ID": KEY.access_key, "AWS_SECRET_ACCESS_KEY": KEY.secret_key}
    more = {"AWS_ENDPOINT_URL_S3": storage.endpoint} if storage else {}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "XDG_"))}
    return {**kept, "COLUMNS": "80", **own, **more}


def command(
    work: Path, *words: str | Path, env: dict[str, str], within_s: float = 120.0
) -> subprocess.CompletedProcess[str]:
    """The installed command, to its end."""
    return subprocess.run(
        [COMMAND, *map(str, words)], cwd=work, env=env, capture_output=True, text=True, timeout=within_s, check=False
    )


def kills(work: Path, n: int, seed: int, *, sweeps: bool) -> Toll:
    """Studies killed at random moments, each mended by `cleanup`, or by `sweep` from an empty home."""
    chance, toll = random.Random(seed), Toll()
    with service() as (storage, buckets):
        home = work / "home"
        home.mkdir(parents=True)
        study = work / "s.yaml"
        study.write_text(STUDY.format(endpoint=storage.endpoint))
        began = time.monotonic()
        whole = command(work, "run", study, "--out", work / "whole", env=environ(home))
        length_s = time.monotonic() - began
        if whole.returncode or buckets.names() != set(LOOK_ALIKES):
            return Toll(0, [f"the study that nobody killed: {whole.stderr[-300:]}{buckets.names()}"])
        for number in range(n):
            folder = work / f"killed-{number}"
            running = subprocess.Popen(
                [COMMAND, "run", study, "--out", folder], cwd=work, env=environ(home), start_new_session=True,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            time.sleep(chance.uniform(0.2, 1.0) * length_s)
            running.send_signal(signal.SIGKILL)
            running.wait()
            toll.deaths += 1
            if not (folder / "study.db").is_file():
                continue
            if sweeps:
                (work / f"empty-{number}").mkdir()
                words = ("sweep", "s3", "--delete", "--study", _tag(folder))
                ended = command(work, *words, env=environ(work / f"empty-{number}", storage))
            else:
                ended = command(work, "cleanup", folder, env=environ(home))
            left = buckets.names() - set(LOOK_ALIKES)
            if left or ended.returncode:
                toll.wrong.append(f"kill {number}: exit {ended.returncode}, left {sorted(left)}: {ended.stderr[-300:]}")
            toll.wrong += [f"kill {number}: {name} was touched" for name in buckets.touched()]
    return toll


def _tag(folder: Path) -> str:
    """The study's tag in the ledger's own file; one that never came so far has no resource."""
    with closing(sqlite3.connect(folder / "study.db")) as database:
        rows = dict(database.execute("SELECT key, value FROM meta").fetchall())
    return str(next((value for key, value in rows.items() if key.endswith("tag")), "none"))


def json_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The document of a command with --json."""
    found: dict[str, Any] = json.loads(done.stdout)
    return found
