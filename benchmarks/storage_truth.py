"""What the agent measures of a simulated storage service, beside what was planted in it.

Open and closed loops at shares of the service's capacity, while it stands still for one second in ten; throttles and
errors; stale reads and their delay, also of what another process has written. Nothing of it is a time of a real
service. `late` is how late the service itself was (99th percentile): on a busy machine it cannot keep its own times,
and neither can a client.

usage: .venv/bin/python benchmarks/storage_truth.py [SECONDS]        (20 s for each load unless given)
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' clients of the agent and of the service

from tests.agent.service_trials import REGION, Place, Ran, run
from tests.agent.written_apart import Way, run_pair
from tests.emulated.simulated_storage import SimulatedStorage, simulated_storage

from agent import AGENT, missing, rounds
from cloudcmp.provider.simulated.storage import Distribution, Key, OperationTruth, Share, Stall, StorageTruth

BUCKET = "cloudcmp-planted"
LATENCY = Distribution(0.02, 0.3)
SERVERS = 4
PERCENTILES = (50.0, 90.0, 95.0, 99.0)
STALL = Stall(10.0, 1.0)


def _place(storage: SimulatedStorage) -> Place:
    return Place("s3", storage.port, BUCKET, Key().access_key, Key().secret_key)


def _asked(storage: SimulatedStorage, seconds: int, **params: str) -> Ran:
    fixed = {"op": "download", "size_bytes": "1024", "objects": "4", "duration_s": str(seconds)}
    ran = run(AGENT, _place(storage), "blob", deadline_s=seconds + 30.0, **{**fixed, **params})
    if ran.outcome != "ok":
        raise RuntimeError(ran.error)
    return ran


def _quantile(values: list[float], percentile: float) -> float:
    return sorted(values)[min(len(values) - 1, int(percentile / 100 * len(values)))]


def _make(storage: SimulatedStorage) -> None:
    import boto3
    from botocore.config import Config

    key = Key()
    client = boto3.client(
        "s3", region_name=REGION, endpoint_url=storage.endpoint, aws_access_key_id=key.access_key,
        aws_secret_access_key=key.secret_key, config=Config(s3={"addressing_style": "path"}),
    )  # fmt: skip
    client.create_bucket(Bucket=BUCKET)


def loads(storage: SimulatedStorage, seconds: int) -> None:
    """Response times at shares of the capacity, with a stall of one second in ten."""
    print(
        "load   loop    asked/s  n      " + "".join(f"p{p:g} seen/planted ms (ratio)   " for p in PERCENTILES) + "late"
    )
    for share in (0.5, 0.8, 0.95):
        # A stall takes a tenth of the capacity as well.
        rate = round(share * 0.9 * SERVERS / LATENCY.mean_s)
        for loop, params in (
            ("open", {"rate_per_s": str(rate), "concurrency": "512"}),
            ("closed", {"concurrency": "4"}),
        ):
            storage.plant(StorageTruth(operations={"blob_get": OperationTruth(LATENCY)}, servers=SERVERS, stall=STALL))
            storage.reset()
            ran = _asked(storage, seconds, **params)
            truth = storage.of("blob_get", "/-/truth?values")["values"]
            cells = []
            for percentile in PERCENTILES:
                planted = _quantile(truth["response_s"], percentile) * 1e3
                seen = ran.percentile_s("blob_latency_s", percentile) * 1e3
                cells.append(f"{seen:7.1f}/{planted:7.1f} ({seen / planted:.3f})      ")
            late = _quantile(truth["late_s"], 99.0) * 1e3
            n = len(truth["response_s"])
            print(
                f"{share:4.0%}   {loop:6}  {rate if loop == 'open' else '-':>7}  {n:<6} {''.join(cells)} {late:.2f} ms"
            )


def counts(storage: SimulatedStorage, seconds: int) -> None:
    """Throttles, errors and wrong bodies: what the agent counted, and what the service did."""
    every = {"throttled": Share(every=10), "failed": Share(every=17), "wrong_body": Share(every=23)}
    storage.plant(StorageTruth(operations={"blob_get": OperationTruth(Distribution(0.002), **every)}))
    storage.reset()
    ran = _asked(storage, seconds, concurrency="4")
    did = storage.of("blob_get")["outcomes"]
    for note, outcome in (("throttled", "throttled"), ("server_errors", "failed"), ("wrong_bodies", "wrong_body")):
        print(f"{note:14} counted {ran.notes[note]:6}  planted {did.get(outcome, 0):6}")


def staleness(storage: SimulatedStorage, seconds: int) -> None:
    """Stale reads right after a write, and the time until no read is stale."""
    delay, share = Distribution(0.05), 0.3
    storage.plant(StorageTruth(operations={
        "blob_put": OperationTruth(Distribution(0.001), propagation=delay),
        "blob_get": OperationTruth(Distribution(0.001), stale_share=share),
        "blob_head": OperationTruth(Distribution(0.001), stale_share=share),
    }))  # fmt: skip
    storage.reset()
    ran = run(AGENT, _place(storage), "consistency", service="blob", change="update", duration_s=str(seconds))
    seen = ran.values["stale_read_ratio"][0]
    times = sorted(ran.values["consistency_time_s"])
    print(f"stale reads right after an update: seen {seen:.3f}, planted {share}")
    middle, most = times[len(times) // 2] * 1e3, delay.median_s * 1e3
    print(f"time to consistency, median of {len(times)}: seen {middle:.1f} ms, planted at most {most:.0f} ms")


def apart(storage: SimulatedStorage, seconds: int) -> None:
    """The time until one process reads what another has written, over loopback and a link of 20 ms each way."""
    delay = Distribution(0.05)
    storage.plant(StorageTruth(operations={
        "blob_put": OperationTruth(Distribution(0.001), propagation=delay),
        "blob_get": OperationTruth(Distribution(0.001), stale_share=1.0),
    }))  # fmt: skip
    for one_way_s in (0.0, 0.02):
        storage.reset()
        pair = run_pair(
            AGENT, _place(storage), way=Way(one_way_s), deadline_s=seconds + 10.0, service="blob",
            duration_s=str(seconds),
        )  # fmt: skip
        times = sorted(pair.reader.values["consistency_time_s"])
        middle, way = times[len(times) // 2] * 1e3, pair.reader.notes["writer_way_s"] * 1e3
        print(
            f"written by another process, {one_way_s * 1e3:g} ms away: median of {len(times)}: {middle:.1f} ms, and at "
            f"most {way:.1f} ms more; planted {delay.median_s * 1e3:.0f} ms"
        )


def main() -> int:
    if why := missing():
        print(why)
        return 1
    seconds = rounds(20)
    with simulated_storage() as storage:
        _make(storage)
        storage.plant(StorageTruth())
        _asked(storage, 1)
        loads(storage, seconds)
        counts(storage, min(5, seconds))
        staleness(storage, min(10, seconds))
        apart(storage, min(10, seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
