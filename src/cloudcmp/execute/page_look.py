"""One look at a URL from this machine: the agent's probe `page`, run here by itself."""

import os
import tempfile
from pathlib import Path

from cloudcmp.agent import Decoder, JobTarget, encode_job, expected_series
from cloudcmp.catalog import METRICS, cells_of, expected_s, fill
from cloudcmp.execute.trial import read_output
from cloudcmp.model.cast import Role
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.trial import Outcome, TrialResult
from cloudcmp.provider.common.authorities import trusted
from cloudcmp.provider.local.process import Process
from cloudcmp.stats import histogram

PATIENCE_S = 3.0
"""How long each page may take: an address that is silent must not hold up a quick look."""
_START_S = 10.0


async def look_at(url: str, vantage: str, pages: int, agent: Path, seed: int = 1) -> TrialResult:
    """Fetches a URL so many times, each with a round trip before it; raises OSError if the agent cannot be started."""
    params = {"vantage": vantage, "resource": "url", "count": str(pages), "patience_s": f"{PATIENCE_S:g}"}
    filled = fill("page", params)
    cells = tuple(map(str, cells_of("page", filled)))
    deadline_s = pages * (PATIENCE_S + 1.0) + _START_S
    trial = PlannedTrial(
        0, 0, "page", tuple(filled.items()), cells, 0, 0.0, expected_s("page", filled), deadline_s, seed
    )  # fmt: skip
    target = JobTarget(Role.ENDPOINT.value, endpoint=url, ca=trusted() or None)
    job = encode_job(
        trial, cpus=sorted(os.sched_getaffinity(0))[:1], folder=None, role=Role.VANTAGE.value, targets=(target,)
    )  # fmt: skip
    decoder = Decoder(expected_series(cells, METRICS), deadline_s, histogram.from_base64)
    async with Process([str(agent)], job, Path(tempfile.gettempdir()), {}) as channel:
        late = await read_output(channel.stdout(), decoder, deadline_s)
        cut = (Outcome.TIMEOUT, f"no end within {deadline_s:g} s") if late else None
        return decoder.result(cut)
