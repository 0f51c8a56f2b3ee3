"""What is planted in simulated services: one service's figures agree with each other."""

import pytest
from tests.plan.clouds import planned

from cloudcmp.model.cell import Cell

SEEDS = pytest.mark.parametrize("seed", range(6))


def means(probes: str, given: str = "{}", seed: int = 0) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """The planted mean of each cell by metric and parameters."""
    candidate = f"[{{provider: simulated, offering: x, truth: {{cells: {given}}}}}]"
    truth = planned(candidate, probes, f"seed: {seed}").candidates[0].truth
    assert truth is not None
    cells = {Cell.parse(text): one for text, one in truth.cells}
    assert all(0 < one.cov <= 0.05 and 0 < one.between <= 0.05 for one in cells.values())
    return {(cell.metric, cell.params): one.mean for cell, one in cells.items()}


def some(found: dict[tuple[str, tuple[tuple[str, str], ...]], float], metric: str, **params: object) -> list[float]:
    """The means of a metric in the cells with these parameters, in the order of the plan."""
    wanted = {(key, str(value)) for key, value in params.items()}
    return [mean for (name, of), mean in found.items() if name == metric and wanted <= set(of)]


def one(found: dict[tuple[str, tuple[tuple[str, str], ...]], float], metric: str, **params: object) -> float:
    (mean,) = some(found, metric, **params)
    return mean


@SEEDS
@pytest.mark.parametrize("given", ["{}", "{table_latency_s op=get: 12 ms}", "{table_op_per_s op=get: 400}"])
def test_operations_in_flight_divided_by_their_latency_are_the_rate(given: str, seed: int) -> None:
    found = means("[{probe: table, params: {op: [get, query], concurrency: [1, 32]}}]", given, seed)
    for op in ("get", "query"):
        for at_once in (1, 32):
            latency = one(found, "table_latency_s", op=op, concurrency=at_once, percentile=50)
            assert one(found, "table_op_per_s", op=op, concurrency=at_once) == pytest.approx(
                at_once / latency, rel=2e-3
            )


@SEEDS
def test_a_planted_bandwidth_gives_the_latency_of_a_blob(seed: int) -> None:
    found = means("[{probe: blob, params: {size_bytes: 10000000}}]", "{blob_bytes_per_s: 50 MB/s}", seed)
    assert one(found, "blob_latency_s", percentile=50) == pytest.approx(0.2, rel=1e-3)


@SEEDS
def test_the_first_byte_comes_before_the_last_at_every_percentile(seed: int) -> None:
    found = means("[{probe: blob, params: {op: [download, upload, list], size_bytes: [1000, 10000000]}}]", seed=seed)
    for op in ("download", "upload", "list"):
        for percentile in (50, 95, 99):
            firsts, lasts = (
                some(found, metric, op=op, percentile=percentile) for metric in ("blob_first_byte_s", "blob_latency_s")
            )
            assert len(firsts) == len(lasts) >= 1
            assert all(first < last for first, last in zip(firsts, lasts, strict=True))
    small, large = (
        one(found, "blob_first_byte_s", op="download", size_bytes=size, percentile=50) for size in (1000, 10000000)
    )
    assert small == pytest.approx(large, rel=0.05)


@SEEDS
def test_another_client_a_new_connection_and_a_strong_read_take_longer(seed: int) -> None:
    found = means(
        "[{probe: table, params: {client: [native, sdk-python, cli], reuse: [yes, no], read: [eventual, strong]}}]",
        seed=seed,
    )

    def latency(client: str = "native", reuse: str = "yes", read: str = "eventual") -> float:
        return one(found, "table_latency_s", client=client, reuse=reuse, read=read, percentile=50)

    assert latency() < latency("sdk-python") < latency("cli")
    assert latency() < latency(reuse="no")
    assert latency() < latency(read="strong")


@SEEDS
def test_one_process_of_an_sdk_does_no_more_with_more_in_flight(seed: int) -> None:
    found = means("[{probe: table, params: {client: [native, sdk-python], concurrency: [1, 8, 64]}}]", seed=seed)
    native, sdk = (
        [one(found, "table_op_per_s", client=client, concurrency=at_once) for at_once in (1, 8, 64)]
        for client in ("native", "sdk-python")
    )
    assert native == sorted(native)
    assert native[2] > 20 * native[0]
    assert sdk[2] < 250


@SEEDS
def test_an_open_loop_gives_the_rate_that_is_asked_of_it(seed: int) -> None:
    found = means("[{probe: queue, params: {rate_per_s: [closed, 50, 100000]}}]", seed=seed)
    assert one(found, "queue_op_per_s", rate_per_s=50) == 50
    assert one(found, "queue_op_per_s", rate_per_s=100000) < 5000
    quiet, busy = (one(found, "queue_latency_s", rate_per_s=rate, percentile=50) for rate in (50, 100000))
    assert quiet < busy


def test_most_services_lose_nothing_and_a_strong_read_is_never_stale() -> None:
    throttled, failed, stale, strong = [], [], [], []
    for seed in range(40):
        reads = "{probe: consistency, params: {read: [eventual, strong]}}"
        found = means(f"[{{probe: table, params: {{concurrency: [1, 32]}}}}, {reads}]", seed=seed)
        throttled.append(one(found, "table_throttled_ratio", concurrency=32))
        assert one(found, "table_throttled_ratio", concurrency=1) == 0
        failed.append(one(found, "table_failed_ratio", concurrency=1))
        stale.append(one(found, "stale_read_ratio", read="eventual"))
        strong.append(one(found, "stale_read_ratio", read="strong"))
        assert one(found, "consistency_time_s", read="eventual") == 0  # fewer than half of the reads are stale
    for shares in (throttled, failed, stale):
        assert 0 < sum(share > 0 for share in shares) < 30
        assert max(shares) < 0.5
    assert set(strong) == {0.0}


def test_a_planted_delay_makes_more_than_half_of_the_reads_stale() -> None:
    found = means("[{probe: consistency}]", "{consistency_time_s: 80 ms}")
    assert one(found, "stale_read_ratio") > 0.5
    late = means("[{probe: consistency}]", "{stale_read_ratio: 60 %}")
    assert one(late, "consistency_time_s") > 0
