from pathlib import Path

import pytest

from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.local import LocalProvider, Machine, read_machine

MEMINFO = "MemTotal:       16000000 kB\nMemFree:  1 kB\n"


def tree(tmp_path, **files):
    for name, text in {"proc/meminfo": MEMINFO, **files}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return tmp_path


def test_without_limits_the_affinity_decides(tmp_path):
    root = tree(tmp_path, **{"proc/cpuinfo": "processor : 0\nmodel name : Some CPU\n"})
    machine = read_machine({3, 1}, root)
    assert machine == Machine((1, 3), None, 16_000_000 * 1024, "Some CPU")
    assert machine.usable_cpus == 2


def test_nothing_readable_limits_nothing(tmp_path):
    assert read_machine([0], tmp_path) == Machine((0,), None, None, None)


@pytest.mark.parametrize(
    ("quota", "cpus"), [("max 100000", 8), ("400000 100000", 4), ("150000 100000", 1), ("50000 100000", 1)]
)
def test_version_2_quota(tmp_path, quota, cpus):
    root = tree(tmp_path, **{"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/cpu.max": quota})
    assert read_machine(range(8), root).usable_cpus == cpus


def test_the_tightest_cgroup_above_us_counts(tmp_path):
    root = tree(
        tmp_path,
        **{
            "proc/self/cgroup": "0::/a/b",
            "sys/fs/cgroup/a/b/cpu.max": "600000 100000",
            "sys/fs/cgroup/a/cpu.max": "300000 100000",
            "sys/fs/cgroup/a/memory.max": "1073741824",
            "sys/fs/cgroup/a/b/memory.max": "max",
        },
    )
    machine = read_machine(range(8), root)
    assert machine.quota_cpus == 3.0
    assert machine.memory_bytes == 2**30


def test_version_1_limits(tmp_path):
    root = tree(
        tmp_path,
        **{
            "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/y\n3:cpuset:/z",
            "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us": "200000",
            "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/memory/y/memory.limit_in_bytes": "2147483648",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
        },
    )
    machine = read_machine(range(8), root)
    assert machine.quota_cpus == 2.0
    assert machine.memory_bytes == 2**31


def test_a_path_of_the_hosts_that_a_container_does_not_see(tmp_path):
    root = tree(tmp_path, **{"proc/self/cgroup": "0::/host/only", "sys/fs/cgroup/cpu.max": "100000 100000"})
    assert read_machine(range(4), root).usable_cpus == 1


@pytest.mark.parametrize(
    ("cpus", "names"),
    [
        (1, ["1cpu"]),
        (2, ["1cpu", "2cpu"]),
        (3, ["1cpu", "3cpu"]),
        (4, ["1cpu", "2cpu", "4cpu"]),
        (7, ["1cpu", "3cpu", "7cpu"]),
    ],
)
def test_instance_types_are_one_half_and_all(tmp_path, cpus, names):
    machine = Machine(tuple(range(cpus)), None, 8 * 2**30, "Some CPU")
    offerings = LocalProvider(OwnedPath(tmp_path), machine=lambda: machine).offerings()
    assert [offering.name for offering in offerings] == names
    assert {(offering.memory_gib, offering.price, offering.attributes) for offering in offerings} == {
        (8.0, None, (("cpu", "Some CPU"),))
    }


def test_this_machine_can_be_read():
    offerings = LocalProvider(OwnedPath(Path("unused"))).offerings()
    assert offerings[0].name == "1cpu"
    assert offerings[0].memory_gib
