"""What CONTRIBUTING.md promises of additions: one file, one table line, one section, one test."""

import re
import tomllib

import pytest
from tests.docs.pages import DOCS, ROOT, anchors

from cloudcmp.catalog import METRICS, PROBES
from cloudcmp.provider.longtail import CLOUDS
from cloudcmp.provider.registry import make, names
from cloudcmp.provision.contract import TESTED

RUN_BY_AGENTS = sorted({probe.by or probe.name for probe in PROBES.values() if not probe.by_controller})
AGENT = ROOT / "agent"
REASONS = (DOCS / "adr" / "0017-dependencies.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RUN_BY_AGENTS)
def test_a_probe_has_file_table_line_section_and_test(name: str) -> None:
    folder = AGENT / "src" / "probe"
    found = (folder / f"{name}.rs").is_file() or (folder / name / "mod.rs").is_file()
    assert found, f"one file: agent/src/probe/{name}.rs"
    table = (folder / "mod.rs").read_text(encoding="utf-8")
    assert re.search(rf"\b{name}::PROBE\b", table), "one table line: PROBES of agent/src/probe/mod.rs"
    assert name in anchors(DOCS / "reference" / "probes.md"), "one section: run 'make docs'"
    test = f"{name}_" if name == "loop" else name  # a word of Rust names no module
    assert (AGENT / "tests" / "agent" / f"{test}.rs").is_file(), f"one test: agent/tests/agent/{test}.rs"


def test_every_probe_of_the_agents_table_is_marked_built() -> None:
    table = (AGENT / "src" / "probe" / "mod.rs").read_text(encoding="utf-8")
    assert sorted(set(re.findall(r"\b(\w+)::PROBE\b", table))) == RUN_BY_AGENTS


@pytest.mark.parametrize("name", sorted(METRICS))
def test_a_metric_has_a_probe_that_gives_it_a_table_line_and_a_section(name: str) -> None:
    givers = [probe for probe in PROBES.values() if name in probe.metrics]
    assert givers, "one file: the probe that gives it"
    metric = METRICS[name]
    assert metric.name == name
    assert metric.doc
    assert metric.excludes
    assert name in anchors(DOCS / "reference" / "metrics.md"), "one section: run 'make docs'"


@pytest.mark.parametrize("name", names())
def test_a_provider_has_a_driver_a_table_line_a_section_and_a_test(name: str) -> None:
    # `ec2` is the driver of `aws` at another endpoint, `rackspace` is an OpenStack, each cloud of the long tail a row
    # of one driver's table; every other name is a file or a folder of its own.
    driver = type(make(name)).__module__.split(".")[2]
    shared = {"ec2": "aws", "rackspace": "openstack", **dict.fromkeys(CLOUDS, "longtail")}
    assert driver == shared.get(name, name), "one file or folder, named as the provider"
    place = ROOT / "src" / "cloudcmp" / "provider" / driver
    assert place.with_suffix(".py").is_file() or (place / "__init__.py").is_file(), "one file or folder"
    page = "long-tail.md" if name in CLOUDS else "providers.md"
    assert name in anchors(DOCS / "reference" / page), f"one section in docs/reference/{page}"
    assert list((ROOT / "tests" / "provider").glob(f"test_{driver}*.py")), "one test"
    assert TESTED[name].against, "what the contract was held against: a line in provision/contract.py"


def _python() -> set[str]:
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    agent = tomllib.loads((AGENT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = found.get("dependency-groups", {}).values()
    extras = found["project"].get("optional-dependencies", {}).values()
    lists = [
        found["project"]["dependencies"],
        found["build-system"]["requires"],
        agent["project"].get("dependencies", []),
        agent["build-system"]["requires"],
        *groups,
        *extras,
    ]
    return {re.split(r"[<>=!~\[; ]", item, maxsplit=1)[0] for items in lists for item in items}


def _rust() -> set[str]:
    found = tomllib.loads((AGENT / "Cargo.toml").read_text(encoding="utf-8"))
    tables = [found.get(key, {}) for key in ("dependencies", "dev-dependencies", "build-dependencies")]
    tables += [part.get("dependencies", {}) for part in found.get("target", {}).values()]
    return {name for table in tables for name in table}


def test_every_direct_dependency_has_a_line_with_its_reason() -> None:
    told = {
        name: reason
        for line in REASONS.splitlines()
        if (found := re.fullmatch(r"- (`.+`): (\S.{10,})", line))
        for reason in [found[2]]
        for name in re.findall(r"`([^`]+)`", found[1])
    }
    direct = _python() | _rust()
    assert len(direct) > 20
    assert direct - set(told) == set(), "without a reason in docs/adr/0017-dependencies.md"
    assert set(told) - direct == set(), "told of, and no dependency any more"
