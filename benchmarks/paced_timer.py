"""How late the agent starts operations that have a time to start at, beside a sleep until that time: the p99, us.

The agent asks a simulated storage service over loopback 1,000 times a second, sleeps until shortly before each start,
and spins the rest. The peer is `time.sleep`, which is the system's clock_nanosleep, until the same times. Only starts
for which a connection was free count, as in a trial. On a machine without a free processor both figures are those of
its scheduler.

usage: .venv/bin/python benchmarks/paced_timer.py [ROUNDS] [--record]        (5 rounds unless given)
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' clients of the agent and of the service

from tests.agent.made_data_sets import NAME, simulated_aws
from tests.agent.service_trials import Place, run

from agent import AGENT, missing, rounds, show
from cloudcmp.provider.simulated.storage import Key

SECONDS, RATE_PER_S = 3, 1000


def ours(port: int) -> float:
    """The p99 of the agent's lateness, us."""
    key = Key()
    place = Place("s3", port, NAME, key.access_key, key.secret_key)
    ran = run(
        AGENT, place, "blob", op="download", size_bytes="1024", objects="1", rate_per_s=str(RATE_PER_S),
        duration_s=str(SECONDS),
    )  # fmt: skip
    if ran.outcome != "ok":
        raise RuntimeError(ran.error)
    return float(ran.notes["start_lateness_p99_s"]) * 1e6


def theirs() -> float:
    """The p99 of the lateness of sleeps until the same times, us."""
    late, due_ns = [], time.monotonic_ns()
    for _ in range(SECONDS * RATE_PER_S):
        due_ns += 10**9 // RATE_PER_S
        time.sleep(max(0.0, (due_ns - time.monotonic_ns()) * 1e-9))
        late.append((time.monotonic_ns() - due_ns) / 1000)
    return sorted(late)[int(0.99 * len(late))]


def main() -> int:
    """Show the agent's p99 of each round, and how many times as late the sleeps were."""
    if why := missing():
        print(why)
        return 1
    with simulated_aws() as storage:
        found = [(ours(storage.port), theirs()) for _ in range(rounds(5))]
    show("paced-timer", [own for own, _ in found])
    show("paced-timer-sleep", [peer / own for own, peer in found])
    return 0


if __name__ == "__main__":
    sys.exit(main())
