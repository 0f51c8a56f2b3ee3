"""The text of a first study from five answers: its probes, candidates and rounds, with the reasons."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cloudcmp.catalog import METRICS
from cloudcmp.model.cell import Cell
from cloudcmp.model.start import Answers, Form
from cloudcmp.units import Money

SIMULATED = "simulated"
CLOUDS = ("aws", "azure", "gcp")
"""The clouds of a starter, in the order in which they are shown."""
SCHEMA_FILE = "cloudcmp.schema.json"
"""The file beside a starter with the JSON Schema of study files, which the starter's first line names for editors."""
LEAST_LAUNCHES = 6
"""Fewer give no verdict."""
_MOST_LAUNCHES = 8
REGIONS: Mapping[str, Mapping[str, str]] = {
    "europe": {"aws": "eu-central-1", "azure": "germanywestcentral", "gcp": "europe-west3"},
    "us": {"aws": "us-east-1", "azure": "eastus", "gcp": "us-east4"},
    "asia": {"aws": "ap-southeast-1", "azure": "southeastasia", "gcp": "asia-southeast1"},
    "australia": {"aws": "ap-southeast-2", "azure": "australiaeast", "gcp": "australia-southeast1"},
    "south-america": {"aws": "sa-east-1", "azure": "brazilsouth", "gcp": "southamerica-east1"},
}
# Additional volumes that come with 3,000 operations a second in each cloud: their defaults differ by a factor of 200.
# https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html ·
# https://learn.microsoft.com/azure/virtual-machines/disks-types · https://cloud.google.com/compute/docs/disks/performance
_VOLUMES = {"aws": "gp3", "azure": "PremiumV2_LRS", "gcp": "pd-balanced"}
_VOLUME_SIZE = "30 GiB"
_INVENTED = ("nimbus", "stratus", "cumulus")


@dataclass(frozen=True, slots=True)
class Matter:
    """A need: why, the probes that measure it, and the cells that then decide."""

    why: str
    probes: tuple[str, ...]
    decide: tuple[str, ...]


MATTERS: Mapping[str, Matter] = {
    "cpu": Matter(
        "The processors: whole-number work of most programs, and solving, which is bound by arithmetic.",
        (
            "{probe: int, params: {threads: all, duration_s: 1 s}}",
            "{probe: lu, params: {threads: all, duration_s: 1 s}}",
        ),
        ("int_op_per_s", "lu_flop_per_s"),
    ),
    "memory": Matter(
        "The memory: how much can be moved at once.",
        ("{probe: stream, params: {threads: all, duration_s: 1 s}}",),
        ("triad_bytes_per_s",),
    ),
    "disk": Matter(
        "The disk: small blocks at random places, as databases read and write them.",
        ("{probe: disk, params: {op: [read, write], pattern: random, block_bytes: 4 KiB, duration_s: 5 s}}",),
        ("disk_op_per_s op=read", "disk_op_per_s op=write"),
    ),
    "network": Matter(
        "The network between two machines of a zone: each launch takes a second machine for it.",
        ("{probe: rtt, params: {path: zone}}", "{probe: tcp, params: {path: zone, duration_s: 5 s}}"),
        ("rtt_s percentile=50", "tcp_bytes_per_s"),
    ),
    "scaling": Matter(
        "How long a machine takes from the request until it can be used.",
        ("{probe: scaling}",),
        ("scaling_latency_s",),
    ),
}
PRICE = "price"
"""A need that has no probe of its own: what is measured is also compared by work for money."""
_PRICED = ("cpu", "memory")
"""What is measured for the price if no other need has work for money."""
PURPOSES: Mapping[str, tuple[str, ...]] = {
    "web": ("cpu", "scaling", "network"),
    "batch": ("cpu", "memory"),
    "database": ("disk", "memory"),
    "general": ("cpu", "memory", "disk"),
}
"""The purposes of a machine, and their default needs."""
_PURPOSE_TEXTS = {
    "web": "serve a web site",
    "batch": "compute in batches",
    "database": "hold a database",
    "general": "do a bit of everything",
}


def has_work(matter: str) -> bool:
    """True if a need's deciding cells get a verdict on work for money where prices are known."""
    return any(METRICS[Cell.parse(cell).metric].is_work for cell in MATTERS[matter].decide)


def measured(matters: Sequence[str]) -> tuple[str, ...]:
    """The needs that are measured, in their order of importance.

    The price is compared by the other needs that have work for money: without one before it, those behind it take its
    place, or the processors and the memory if there is none. So a small budget does not drop what the price needs.
    """
    if PRICE not in matters:
        return tuple(matters)
    at = matters.index(PRICE)
    before, after = tuple(matters[:at]), tuple(matters[at + 1 :])
    if any(map(has_work, before)):
        return (*before, *after)
    priced = tuple(filter(has_work, after)) or _PRICED
    return (*before, *priced, *(one for one in after if one not in priced))


def left_out(answers: Answers, form: Form) -> list[str]:
    """The needs that a form does not meet."""
    left = [name for name in measured(answers.matters) if name not in form.matters]
    return [*left, PRICE] if PRICE in answers.matters and not any(map(has_work, form.matters)) else left


def region_of(users: str, provider: str) -> str:
    """The region of a cloud in which a starter measures for these users."""
    return REGIONS[users][provider]


def forms(matters: Sequence[str]) -> Iterator[Form]:
    """The forms of a starter from the most expensive to the cheapest: fewer rounds first, then runs, then needs.

    Never fewer rounds than a verdict needs.
    """
    for kept in range(len(matters), 0, -1):
        some = tuple(matters[:kept])
        if kept == len(matters):
            yield Form(_MOST_LAUNCHES, 2, some)
        yield Form(LEAST_LAUNCHES, 2, some)
        yield Form(LEAST_LAUNCHES, 1, some)


def fitting(matters: Sequence[str], worst: Callable[[Form], Money | None], budget: Money) -> tuple[Form, Money | None]:
    """The most expensive form whose worst case is within the budget, and that worst case.

    If none is, the cheapest, whose worst case is then above the budget; if a price is unknown, the first with None.
    """
    form, money = Form(LEAST_LAUNCHES, 1, tuple(matters[:1])), None
    for form in forms(matters):
        money = worst(form)
        if money is None or money.currency != budget.currency or money.amount <= budget.amount:
            break
    return form, money


def starter_text(answers: Answers, clouds: Sequence[str], form: Form) -> str:
    """The study file: a candidate in each of the clouds, or in three invented ones without clouds.

    In a single cloud, the requested size is compared with twice that size.
    """
    return "\n".join(_lines(answers, clouds, form)) + "\n"


def _lines(answers: Answers, clouds: Sequence[str], form: Form) -> Iterator[str]:
    priced = [name for name in form.matters if has_work(name)] if PRICE in answers.matters else []
    yield f"# yaml-language-server: $schema=./{SCHEMA_FILE}"
    yield f"# What should {_PURPOSE_TEXTS[answers.purpose]}, for users in {_where(answers.users)}?"
    yield "#"
    yield "# Written by `cloudcmp start`."
    yield "# Change what you like: each key is explained in docs/reference/study-file.md."
    yield "schema: 1"
    yield f"question: {_question(answers, alone=len(clouds) == 1, priced=bool(priced))}"
    yield ""
    yield "candidates:"
    yield from _candidates(answers, clouds, form)
    yield ""
    yield "# A round launches each candidate afresh, in random order. Six are the least that give a verdict; the spread"
    yield "# between launches is what a verdict rests on."
    yield f"launches: {form.launches}"
    yield f"runs: {form.runs}"
    yield ""
    yield "# Nothing is created that could lead above it, however long a machine lives."
    yield f"budget: {answers.budget.amount} {answers.budget.currency}"
    yield ""
    yield "probes:"
    for name in form.matters:
        yield f"  # {MATTERS[name].why}"
        yield from (f"  - {probe}" for probe in MATTERS[name].probes)
    left = left_out(answers, form)
    if left:
        yield f"  # Left out, for the budget does not bear it: {', '.join(left)}."
    yield ""
    yield "# These cells get a verdict; all others are measured and shown without one."
    if priced:
        yield f"# The price matters: those of {' and '.join(priced)} get a second verdict, by work for money: what a"
        yield "# machine does in an hour, for what the hour costs. It needs the price of each candidate."
    yield "decide:"
    yield from (f"  - {cell}" for name in form.matters for cell in MATTERS[name].decide)


def _question(answers: Answers, *, alone: bool, priced: bool) -> str:
    size, purpose = f"{answers.vcpus} vCPUs and {answers.memory_gib} GiB", _PURPOSE_TEXTS[answers.purpose]
    if alone:
        return f"To {purpose}, is twice a machine of {size} worth twice its price?"
    most = "does most for its price" if priced else "is best"
    return f"Which cloud's machine of {size} {most} to {purpose}, and in what?"


def _candidates(answers: Answers, clouds: Sequence[str], form: Form) -> Iterator[str]:
    size = f"{answers.vcpus} vCPUs and {answers.memory_gib} GiB"
    alone = len(clouds) == 1
    if alone:
        yield "  # Credentials of one cloud were found: what was asked for, and twice of it, can be compared there."
    elif clouds:
        yield f"  # In each cloud the offering nearest to {size}, near the users; `cloudcmp plan` names it."
    else:
        yield "  # Three invented clouds, for no credentials of a real one were found: their numbers are planted."
        yield "  # Nothing is created or billed. They show what a study does; with credentials begin again."
    places = [(one, region_of(answers.users, one)) for one in clouds]
    if any(one in _VOLUMES for one, _ in places) and "disk" in form.matters:
        yield "  # Each with a disk of its own of the same size, which comes with 3,000 operations a second."
    for provider, region in places or [(SIMULATED, one) for one in _INVENTED]:
        volume = ""
        if provider in _VOLUMES and "disk" in form.matters:
            volume = f",\n     volume: {{type: {_VOLUMES[provider]}, size: {_VOLUME_SIZE}}}"
        for times in (1, 2) if alone else (1,):
            match = f"{{vcpus: {answers.vcpus * times}, memory_gib: {answers.memory_gib * times}}}"
            yield f"  - {{provider: {provider}, region: {region}, match: {match}{volume}}}"


def _where(users: str) -> str:
    return {"us": "the US", "south-america": "South America"}.get(users, users.capitalize())
