"""Guests of this host have no caps to speak of, in numbers that their agents take."""

import json
import subprocess

from cloudcmp import agent
from cloudcmp.pipeline.visiting import LONG_S, WIDE


def test_the_agent_takes_the_widest_caps() -> None:
    caps = {"burst_s": LONG_S, "bytes_per_s": WIDE, "packets_per_s": WIDE, "bytes": 2**60}
    job = {
        "v": 1, "seq": 0, "type": "job", "probe": "rtt", "params": {"path": "zone"}, "role": "server", "cpus": [0],
        "dir": None, "peer": "127.0.0.1:0", "secret": "ab" * 32, "deadline_s": 5.0, "seed": 1, "caps": caps,
    }  # fmt: skip
    done = subprocess.run(
        [agent.locate()], input=json.dumps(job) + "\n", capture_output=True, text=True, timeout=20, check=False
    )
    # It reads the job, then sees that nobody waits for it; a job that it does not take ends with 2.
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout.splitlines()[-1])["outcome"] == "aborted"
