"""sysbench: its five tests, several runs in one output, and what makes it not sure."""

import pytest

from cloudcmp.catalog.lookup import tool_settings
from cloudcmp.model.tool import UnclearOutput
from cloudcmp.tools import TOOLS
from tests.tools.outputs import PKB, real, reports, sample, values, why

MIB = 2**20


def test_memory_of_four_runs() -> None:
    found = reports("sysbench", real(f"{PKB}/sysbench-memory-output-sample.txt"))
    assert [report.version for report in found] == ["1.0.11"] * 4
    moved = [values(report)["bandwidth"] for report in found]
    assert moved == pytest.approx([3803.18 * MIB, 5343.59 * MIB, 5353.06 * MIB, 3811.29 * MIB])
    assert found[0].settings == {
        "threads": "1", "memory_block_bytes": "1024", "memory_oper": "write", "memory_scope": "global",
    }  # fmt: skip
    with pytest.raises(UnclearOutput, match="4 runs"):
        TOOLS["sysbench-memory"].read(
            real(f"{PKB}/sysbench-memory-output-sample.txt"), tool_settings("sysbench-memory", {})
        )


def test_a_database_is_read_too() -> None:
    (report,) = reports("sysbench", real(f"{PKB}/sysbench-output-sample.txt"))
    assert report.tool == "sysbench-oltp"
    assert values(report) == pytest.approx(
        {"transactions": 986.49, "queries": 19730.45, "latency_mean": 480.02719 / 29611}
    )
    assert report.settings == {"threads": "16", "queries_per_transaction": "20"}


def test_each_test_gives_its_measures() -> None:
    asked = {
        "cpu": ({}, {"events": 4159.94, "latency_mean": 0.99527 / 4165, "latency_p95": 0.29e-3}),
        "memory": ({}, {"bandwidth": 5824.42 * MIB, "operations": 5964203.43}),
        "memory2": (
            {"threads": "2", "memory_block_bytes": "1 MiB", "memory_oper": "read"},
            {"bandwidth": 92124.02 * MIB, "operations": 92124.02},
        ),
        "threads": ({}, {"events": 1795 / 1.0002, "latency_mean": 0.99835 / 1795, "latency_p95": 0.59e-3}),
        "fileio": (
            {"file_test_mode": "rndrw", "file_total_bytes": "16 MiB"},
            {"read_iops": 4205.91, "read_bandwidth": 4205.91 * 16384, "write_iops": 2803.94,
             "write_bandwidth": 2803.94 * 16384, "latency_mean": 0.99612 / 7382},
        ),
        "fileio2": (
            {"file_test_mode": "seqwr", "file_total_bytes": "8 MiB", "file_block_bytes": "4096"},
            {"write_iops": 171154.4, "write_bandwidth": 171154.4 * 4096, "latency_mean": 0.97301 / 174726},
        ),
    }  # fmt: skip
    for name, (params, expected) in asked.items():
        tool = f"sysbench-{name.rstrip('2')}"
        text = sample(f"sysbench-{name}.txt")
        readings = TOOLS[tool].read(text, tool_settings(tool, params))
        assert {one.measure: one.value for one in readings} == pytest.approx(expected), name


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("memory", "(5824.42 MiB/sec)", "(5824.42 KiB/sec)", "no line tells what was moved"),
        ("memory", "(5824.42 MiB/sec)", "(5824,42 MiB/sec)", "no line tells what was moved"),
        ("memory", "block size: 1KiB", "block size: 1MiB", "does not follow"),
        ("memory", "block size: 1KiB", "block size: 1furlong", "is not known"),
        ("memory", "1.0002s", "1.0002m", "total time"),
        ("cpu", "events per second:  4159.94", "events per second:  0.00", "not above zero"),
        ("cpu", "events per second:  4159.94", "events per second:  inf", "is not a number"),
        ("cpu", "events per second:  4159.94", "events per second:  41.5994", "does not follow"),
        ("cpu", "0.29\n", "0.00\n", "not above zero"),
        ("cpu", "Latency (ms):", "Latency (us):", "are in ms"),
        ("threads", "998.35", "99.835", "does not follow"),
        ("fileio", "Block size 16KiB", "Block size 4KiB", "does not follow"),
        ("fileio", "read, MiB/s:", "read, GiB/s:", "in MiB/s"),
        ("fileio", "random r/w test", "random walk test", "is not known"),
        ("threads", "Initializing worker", "Doing mutex performance test\nInitializing worker", "is not known"),
    ],
)
def test_a_changed_output_is_not_believed(name: str, old: str, new: str, says: str) -> None:
    text = sample(f"sysbench-{name}.txt")
    assert old in text
    assert says in why("sysbench", text.replace(old, new, 1))


def test_a_larger_unit_of_blocks_is_counted() -> None:
    text = sample("sysbench-memory2.txt").replace("block size: 1024KiB", "block size: 1MiB")
    assert reports("sysbench", text) == reports("sysbench", sample("sysbench-memory2.txt"))


def test_versions_before_1_0_wrote_another_form() -> None:
    (cpu,) = reports("sysbench", sample("sysbench-04-cpu.txt"))
    assert (cpu.tool, cpu.version, cpu.settings) == (
        "sysbench-cpu",
        "0.4.12",
        {"threads": "2", "cpu_max_prime": "20000"},
    )
    assert values(cpu) == pytest.approx({"events": 800.0, "latency_mean": 2.49e-3, "latency_p95": 2.61e-3})
    (memory,) = reports("sysbench", sample("sysbench-04-memory.txt"))
    assert values(memory) == pytest.approx({"bandwidth": 2048 * 2**20, "operations": 262144.0})
    assert memory.settings == {
        "threads": "2", "memory_block_bytes": "8192", "memory_oper": "read", "memory_scope": "local",
    }  # fmt: skip
    (files,) = reports("sysbench", sample("sysbench-04-fileio.txt"))
    assert values(files) == pytest.approx(
        {"read_iops": 120.0, "read_bandwidth": 120.0 * 16384, "write_iops": 80.0, "write_bandwidth": 80.0 * 16384,
         "latency_mean": 9.7e-3}
    )  # fmt: skip
    assert files.settings["file_test_mode"] == "rndrw"
    (oltp,) = reports("sysbench", sample("sysbench-05-oltp.txt"))
    assert (oltp.tool, oltp.version) == ("sysbench-oltp", "0.5")
    assert values(oltp) == pytest.approx({"transactions": 250.0, "latency_mean": 7.96e-3, "latency_p95": 9.2e-3})


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("cpu", "10000\n    total time taken", "0\n    total time taken", "not above zero"),
        ("cpu", "2.49ms", "2.49s", "mean latency in ms"),
        ("cpu", "2.49ms", "24.9ms", "does not follow"),
        ("cpu", "Maximum prime", "Largest prime", "which test"),
        ("memory", "(2048.00 MB/sec)", "(2048.00 Mbit/sec)", "was moved"),
        ("memory", "(2048.00 MB/sec)", "(204.80 MB/sec)", "does not follow"),
        ("memory", "size: 8K", "size: 8P", "is not known"),
        ("fileio", "3.125Mb/sec", "3.125Kb/sec", "does not follow"),
        ("fileio", "200.00 Requests", "20.00 Requests", "does not follow"),
        ("fileio", "random r/w test", "random w/r test", "is not known"),
    ],
)
def test_an_old_output_that_was_changed_is_not_believed(name: str, old: str, new: str, says: str) -> None:
    text = sample(f"sysbench-04-{name}.txt")
    assert old in text
    assert says in why("sysbench", text.replace(old, new, 1))


def test_a_run_that_does_not_say_its_test_is_not_called_one_of_threads() -> None:
    """Threads, mutex and scripts of one's own print the same: only who asked for threads knows it."""
    (report,) = reports("sysbench", sample("sysbench-threads.txt"))
    assert report.tool == "sysbench-untold"
    assert "mutex" in report.unread[0]
    asked = tool_settings("sysbench-threads", {"threads": report.settings["threads"]})
    assert len(TOOLS["sysbench-threads"].read(sample("sysbench-threads.txt"), asked)) == 3
    with pytest.raises(UnclearOutput, match="no run of sysbench-threads"):
        TOOLS["sysbench-threads"].read(sample("sysbench-cpu.txt"), asked)
