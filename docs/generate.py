"""Write the reference pages that follow from the tables and the commands; `--check` only says which are out of date."""

import contextlib
import io
import json
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

from speed import peers, speed_page
from text import NOTE, table, wrapped

from cloudcmp.catalog import METRICS, PROBES, READERS, SUITES, TOOLS
from cloudcmp.catalog.lookup import tool_settings
from cloudcmp.catalog.tables.tasks import TASK_WORK
from cloudcmp.cli.main import build
from cloudcmp.model.metric import Group, Metric, Probe
from cloudcmp.model.protocol import Direct, Provider
from cloudcmp.model.safety import SAFEGUARDS
from cloudcmp.model.tool import Tool
from cloudcmp.provider import gcp, longtail
from cloudcmp.provider.aws import policy
from cloudcmp.provider.azure import policy as azure_policy
from cloudcmp.provider.longtail.dialect import Cloud
from cloudcmp.provider.openstack import policy as access_rules
from cloudcmp.provider.registry import make, names
from cloudcmp.provision.contract import CHECKED, CLAUSES, TESTED, TestRecord
from cloudcmp.units import format_seconds

HERE = Path(__file__).parent / "reference"


def metrics_page() -> Iterator[str]:
    """Every metric: unit, direction, parameters, how samples become a value, what it leaves out."""
    yield "# Metrics\n"
    yield NOTE
    yield "A cell is a metric with its parameters, written `metric key=value;key=value`; only cells are compared.\n"
    for group in Group:
        yield f"\n## {group.value}\n"
        for metric in (m for m in METRICS.values() if m.group is group):
            yield from _metric(metric)


def _metric(metric: Metric) -> Iterator[str]:
    yield f"\n### {metric.name}\n"
    yield f"{metric.doc} *Does not measure:* {metric.excludes}\n"
    signed = "; may be 0, so it is compared by differences" if metric.signed else ""
    yield f"- unit: {metric.unit}; better: {metric.better.value}{signed}"
    yield f"- a trial's value: {metric.reduce.value} of its samples"
    yield f"- parameters: {', '.join(f'`{key}`' for key in metric.params) or 'none'}"
    for key, values in metric.free:
        yield f"- one trial gives a cell for each `{key}`: {', '.join(values)}"
    yield f"- measured by: {', '.join(f'`{p.name}`' for p in PROBES.values() if metric.name in p.metrics)}"


def probes_page() -> Iterator[str]:
    """Every probe: what it does, its parameters and defaults, its metrics, what it leaves out."""
    yield "# Probes\n"
    yield NOTE
    yield "The agent runs a probe, or the controller does, once a launch, where a cloud makes machines. The `simulated`"
    yield "provider answers all of them.\n"
    for probe in PROBES.values():
        yield from _probe(probe)


def _probe(probe: Probe) -> Iterator[str]:
    yield f"\n## {probe.name}\n"
    yield f"{probe.doc} *Does not measure:* {probe.excludes}\n"
    yield f"- run by {_runs(probe)}"
    yield f"- metrics: {', '.join(f'`{name}`' for name in probe.metrics)}\n"
    rows = (
        (f"`{p.name}`", p.kind.value, f"`{p.default}`", p.doc + (f" ({', '.join(p.words)})" if p.words else ""))
        for p in probe.params
    )
    yield from table(("parameter", "kind", "default", "meaning"), rows)
    if probe.name == "task":
        yield from _work()
    yield from peers(probe.name)


def _runs(probe: Probe) -> str:
    """Who runs a probe."""
    if probe.by_controller:
        return "the controller"
    if "peer" in probe.roles:
        return "an agent on each machine of a group"
    return "two agents" if len(probe.roles) > 1 else "one agent"


def _work() -> Iterator[str]:
    """How much work each of CloudCmp's tasks is."""
    yield "\nThe work, in double precision and from fixed inputs, for each thread:\n"
    head = ("task", "one pass", "passes: full, small", "held against")
    told = TASK_WORK.items()
    rows = ((f"`{name}`", work, f"{full}, {small}" if full else "", held) for name, (work, full, small, held) in told)
    yield from table(head, rows)


def tools_page() -> Iterator[str]:
    """Every tool of others: what it tells, its parameters, its command line, and the outputs that can be imported."""
    yield "# Tools\n"
    yield NOTE
    yield "Benchmarks that others wrote and trust. cloudcmp ships none of them: a tool is installed from the machine's"
    yield "own packages, or is named by its path. What a tool says becomes cells of its own, such as"
    yield "`tool_op_per_s measure=read_iops;settings=default;tool=fio`: they are compared with each other, never with"
    yield "those of a probe.\n"
    yield "An output that is cut, has another unit, tells a thing twice or contradicts itself is not read: the line"
    yield "that says why names the place in it.\n"
    for tool in TOOLS.values():
        yield from _tool(tool)
    yield "\n## Outputs that can be imported\n"
    yield "With `cloudcmp import` ([how](../how-to/import-other-tools.md)), whoever ran the tool:\n"
    for reader in READERS.values():
        yield f"- `{reader.name}`: {reader.doc}"
    yield "- `pkb`: samples of PerfKitBenchmarker, one JSON object a line"


def _tool(tool: Tool) -> Iterator[str]:
    settings = tool_settings(tool.name, {})
    packages = ", ".join(f"{system} `{package}`" for system, package in tool.packages)
    yield f"\n## {tool.name}\n"
    yield from wrapped(f"{tool.doc} *Leaves out:* {tool.excludes}")
    yield ""
    yield f"- packages: {packages or 'none; it is named by its path'}"
    yield f"- takes about {format_seconds(tool.typical_s(settings))}"
    yield from wrapped("- measures: " + ", ".join(f"`{one.name}` ({one.metric})" for one in tool.measures(settings)))
    yield ""
    rows = (
        (f"`{p.name}`", p.kind.value, f"`{p.default}`", p.doc + (f" ({', '.join(p.words)})" if p.words else ""))
        for p in tool.params
    )
    yield from table(("parameter", "kind", "default", "meaning"), rows)
    yield ""
    yield "```text"
    for line in tool.command(settings).splitlines():
        yield from _continued(line)
    yield "```"
    if tool.pair and (served := tool.pair(settings).serve):
        yield "\non the second machine, while the first one's line runs:\n\n```text"
        for line in served.splitlines():
            yield from _continued(line)
        yield "```"


def _continued(line: str) -> list[str]:
    """A line for a shell in lines that fit the page."""
    if len(line) <= 110:
        return [line]
    lines = textwrap.wrap(line, 110, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return [*(f"{each} \\" for each in lines[:-1]), lines[-1]]


def suites_page() -> Iterator[str]:
    """Every suite and what it runs."""
    yield "# Suites\n"
    yield NOTE
    for suite in SUITES.values():
        yield f"\n## {suite.name}\n"
        yield f"{suite.doc}\n"
        for probe, params in suite.probes:
            yield f"- `{probe}` " + ", ".join(f"{key}: {' '.join(values)}" for key, values in params)


def commands_page() -> Iterator[str]:
    """Every command with its help text."""
    yield "# Commands\n"
    yield NOTE
    yield from _command()
    for command in build().registered_commands:
        yield from _command(*str(command.name).split())


def _command(*path: str) -> Iterator[str]:
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        build()(args=[*path, "--help"], standalone_mode=False, prog_name="cloudcmp", terminal_width=96)
    yield f"\n## {' '.join(('cloudcmp', *path))}\n"
    yield "```text"
    yield shown.getvalue().rstrip()
    yield "```"


def support_page() -> Iterator[str]:
    """What each provider can do, what stands against leftovers there, and which promises its tests hold."""
    providers = [make(name) for name in names()]
    yield "# Support matrix\n"
    yield NOTE
    yield "No provider was ever run on a real cloud account. What that means for yours, `cloudcmp check --live` tells"
    yield "([check an account](../how-to/check-an-account.md)).\n"
    yield "## Providers\n"
    yield from table(("provider", *_FACTS), ((one.name, *(fact(one) for fact in _FACTS.values())) for one in providers))
    yield "\nThe tests ran each against something that is no real account:\n"
    for one in providers:
        yield from wrapped(f"- **{one.name}**: {_tested(one).against}")
    yield from _checks(providers)
    yield from _leftovers(providers)
    yield from _promises(providers)


_FACTS: dict[str, Callable[[Provider], str]] = {
    "numbers": lambda one: "planted" if one.simulated else "measured",
    "billed by": lambda one: _billed_by(one) if one.billed else "not billed",
    "a launch leases": lambda one: ", ".join(one.parts),
    "reached": lambda one: "directly" if isinstance(one, Direct) else "by SSH",
}


def _billed_by(provider: Provider) -> str:
    step, least = provider.billing.step_s, provider.billing.minimum_s
    return f"{format_seconds(step)} begun, at least {format_seconds(least)}"


def _tested(provider: Provider) -> TestRecord:
    return TESTED.get(provider.name, TestRecord("nothing yet"))


def _checks(providers: list[Provider]) -> Iterator[str]:
    """What a provider can be asked before anything is made there."""
    yield "\n## Before a study\n"
    yield "What [`cloudcmp check`](commands.md#cloudcmp-check) asks each provider itself; it creates nothing:"
    yield "`+` is asked, `-` is not. Prices and the agent are looked at for every provider.\n"
    kinds = [what for what in CHECKED if any(what in _tested(one).checked for one in providers)]
    rows = ((one.name, *("+" if what in _tested(one).checked else "-" for what in kinds)) for one in providers)
    yield from table(("provider", *kinds), rows)
    yield ""
    yield from (f"- *{what}*: {CHECKED[what]}" for what in kinds)


def _leftovers(providers: list[Provider]) -> Iterator[str]:
    yield "\n## Against leftovers\n"
    yield "Whether each barrier holds; beneath, how, and what stays billed where only it does.\n"
    held = {one.name: {barrier.name: barrier for barrier in one.safeguards} for one in providers}
    words = {True: "yes", False: "no"}
    rows = ((name, *(words[of[barrier].holds] for barrier in SAFEGUARDS)) for name, of in held.items())
    yield from table(("provider", *SAFEGUARDS), rows)
    for name, of in held.items():
        yield f"\n### {name}\n"
        for barrier in SAFEGUARDS:
            yield from wrapped(f"- *{barrier}*: {words[of[barrier].holds]}: {of[barrier].how}")


def _promises(providers: list[Provider]) -> Iterator[str]:
    yield "\n## Promises\n"
    yield "Tried out in this order on one set of machines. Where the provider was tested: `+` holds, `-` does not hold,"
    yield "`?` cannot be told.\n"
    numbers = range(1, len(CLAUSES) + 1)
    rows = ((one.name, *(_ruled(one, clause.name) for clause in CLAUSES)) for one in providers)
    yield from table(("provider", *map(str, numbers)), rows)
    yield ""
    yield from table(("", "clause", "promise"), ((str(n), one.name, one.text) for n, one in enumerate(CLAUSES, 1)))
    for one in providers:
        for clause, why in {**_tested(one).unknown, **_tested(one).broken}.items():
            yield ""
            yield from wrapped(f"{one.name}, *{clause}*: {why}.")


def _ruled(provider: Provider, clause: str) -> str:
    if provider.name not in TESTED:
        return "not tested"
    return {True: "+", False: "-", None: "?"}[TESTED[provider.name].holds(clause)]


def policy_file() -> Iterator[str]:
    """The least rights that a user of `aws` needs."""
    yield json.dumps(policy(), indent=2)


def azure_policy_file() -> Iterator[str]:
    """The least rights that a user of `azure` needs."""
    yield json.dumps(azure_policy(), indent=2)


def gcp_policy_file() -> Iterator[str]:
    """The least rights that an account of `gcp` needs."""
    yield json.dumps(gcp.policy(), indent=2)


def _scopes_file(name: str) -> Callable[[], Iterator[str]]:
    """What a token of a cloud of the long tail must be allowed."""
    return lambda: iter([json.dumps(longtail.policy(longtail.CLOUDS[name]), indent=2)])


def long_tail_page() -> Iterator[str]:
    """What is known of each cloud of the long tail, with the page that says so."""
    yield "# The long tail: what is known of each cloud\n"
    yield NOTE
    yield "One driver runs these clouds, by a table whose rows these are. R marks what was recalled and was not found"
    yield "on the named page. No cloud here was ever run on a real account. How the driver works, and what a study"
    yield "may ask of all of them: [digitalocean](providers.md#digitalocean).\n"
    yield from table(_ROW, (_row(cloud) for cloud in longtail.CLOUDS.values()))
    for cloud in longtail.CLOUDS.values():
        yield f"\n## {cloud.name}\n"
        for fact in cloud.facts:
            yield from wrapped(f"- **{fact.what}**: {fact.text} (<{fact.source}>)")
        yield from wrapped(f"- **rights of a token**: {cloud.scopes_note}")
        yield from wrapped(
            f"- **images**: {', '.join(f'`{ours}` is `{theirs}`' for ours, theirs in cloud.images.items())}"
        )


_ROW = ("provider", "is", "token in", "another address of the interface in", "prices in", "a small machine", "resize")


def _row(cloud: Cloud) -> tuple[str, ...]:
    tokens = ", else ".join(f"`{name}`" for name in cloud.tokens)
    region, offering = cloud.smallest
    scopes = f"[scopes]({cloud.name}-policy.json)"
    small = f"`{offering}` in `{region}`"
    resize = "yes" if cloud.resize else "no"
    return cloud.name, cloud.title, f"{tokens}: {scopes}", f"`{cloud.endpoint}`", cloud.currency, small, resize


def access_rules_file() -> Iterator[str]:
    """The least that an application credential for `openstack` must open."""
    yield json.dumps(access_rules(), indent=2)


PAGES = {
    "metrics.md": metrics_page,
    "probes.md": probes_page,
    "suites.md": suites_page,
    "speed.md": speed_page,
    "tools.md": tools_page,
    "commands.md": commands_page,
    "support-matrix.md": support_page,
    "aws-policy.json": policy_file,
    "azure-policy.json": azure_policy_file,
    "gcp-policy.json": gcp_policy_file,
    **{f"{name}-policy.json": _scopes_file(name) for name in longtail.CLOUDS},
    "long-tail.md": long_tail_page,
    "openstack-policy.json": access_rules_file,
}


def main() -> int:
    """Write or check the pages; 1 when a checked page is out of date."""
    check = "--check" in sys.argv[1:]
    stale = []
    for name, page in PAGES.items():
        text = "\n".join(page()).rstrip() + "\n"
        path = HERE / name
        if check and (not path.exists() or path.read_text() != text):
            stale.append(name)
        elif not check:
            path.write_text(text)
    for name in stale:
        sys.stderr.write(f"docs/reference/{name}: out of date; run 'make docs'\n")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
