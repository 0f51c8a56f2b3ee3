"""The text of a first study from five answers: its probes, candidates and rounds, with the reasons."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cloudcmp.model.start import Answers, Form
from cloudcmp.units import Money, parse_money

SIMULATED = "simulated"
CLOUDS = ("aws", "azure", "gcp")
"""The clouds of a starter, in the order in which they are shown."""
SCHEMA_FILE = "cloudcmp.schema.json"
"""The file beside a starter with the JSON Schema of study files, which the starter's first line names for editors."""
LEAST_LAUNCHES = 6
"""Fewer give no verdict."""
_MOST_LAUNCHES = 8
_SIZES = {"small": (2, 4), "medium": (2, 8), "large": (4, 16), "xlarge": (8, 32)}
"""vCPUs and GiB of memory."""
_REGIONS = {
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


@dataclass(frozen=True, slots=True)
class Question:
    """One question: the option that answers it, its words, and the possible answers."""

    option: str
    words: str
    choices: tuple[str, ...]
    more: str = ""

    def prompt(self, default: str) -> str:
        """The question with its choices and default."""
        choices = ", ".join(self.choices) + self.more
        return f"{self.words} ({choices}) [{default}] "


QUESTIONS: tuple[Question, ...] = (
    Question("--for", "1/5 What is it for?", tuple(PURPOSES)),
    Question("--users", "2/5 Where are its users?", tuple(_REGIONS)),
    Question("--size", "3/5 How big is a machine?", tuple(_SIZES), ", or vCPUs and GiB such as 2/8"),
    Question("--matters", "4/5 What matters?", tuple(MATTERS), "; several with commas"),
    Question("--budget", "5/5 What may it cost at worst?", (), "money such as '20 USD'"),
)
_DEFAULTS = {"--for": "general", "--users": "europe", "--size": "medium", "--budget": "20 USD"}


def default_of(option: str, given: Mapping[str, str]) -> str:
    """The default answer of a question; that of what matters follows from the purpose."""
    if option == "--matters":
        return ",".join(PURPOSES[given.get("--for", _DEFAULTS["--for"])])
    return _DEFAULTS[option]


def checked(option: str, text: str) -> str:
    """An answer in canonical spelling; raises ValueError with the possible answers."""
    answer = text.strip().lower()
    if option == "--budget":
        return _budget(text.strip())
    if option == "--size":
        if answer not in _SIZES:
            _parts(answer)
        return answer
    choices = next(one.choices for one in QUESTIONS if one.option == option)
    words = [one.strip() for one in answer.split(",")] if option == "--matters" else [answer]
    for word in words:
        if word not in choices:
            raise ValueError(f"{word!r} is none of {', '.join(choices)}")
    return ",".join(dict.fromkeys(words))


def answers(given: Mapping[str, str]) -> Answers:
    """The answers, with defaults for missing ones; raises ValueError as `checked`."""
    texts = {
        one.option: checked(one.option, given.get(one.option) or default_of(one.option, given)) for one in QUESTIONS
    }
    vcpus, memory = _SIZES.get(texts["--size"]) or _parts(texts["--size"])
    matters = tuple(texts["--matters"].split(","))
    return Answers(texts["--for"], texts["--users"], vcpus, memory, matters, parse_money(texts["--budget"]))


def _budget(text: str) -> str:
    try:
        money = parse_money(text)
    except ValueError as wrong:
        if "not more than zero" not in str(wrong):
            raise
        raise ValueError(f"{text!r} is not more than zero; it is the most that may be spent") from None
    return f"{money.amount} {money.currency}"


def _parts(size: str) -> tuple[int, int]:
    vcpus, slash, memory = size.partition("/")
    if not slash or not (vcpus.isascii() and vcpus.isdigit() and memory.isascii() and memory.isdigit()):
        raise ValueError(f"{size!r} is no size; write one of {', '.join(_SIZES)}, or vCPUs and GiB such as 2/8")
    parsed = int(vcpus), int(memory)
    if not (0 < parsed[0] <= 1024 and 0 < parsed[1] <= 65536):
        raise ValueError(f"{size!r} is no size that a machine has; write e.g. 2/8")
    return parsed


def region_of(users: str, provider: str) -> str:
    """The region of a cloud in which a starter measures for these users."""
    return _REGIONS[users][provider]


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
    size = f"{answers.vcpus} vCPUs and {answers.memory_gib} GiB"
    alone = len(clouds) == 1
    yield f"# yaml-language-server: $schema=./{SCHEMA_FILE}"
    yield f"# What should {_PURPOSE_TEXTS[answers.purpose]}, for users in {_where(answers.users)}?"
    yield "#"
    yield "# Written by `cloudcmp start`."
    yield "# Change what you like: each key is explained in docs/reference/study-file.md."
    yield "schema: 1"
    if alone:
        yield f"question: To {_PURPOSE_TEXTS[answers.purpose]}, is twice a machine of {size} worth twice its price?"
    else:
        yield f"question: Which cloud's machine of {size} is best to {_PURPOSE_TEXTS[answers.purpose]}, and in what?"
    yield ""
    yield "candidates:"
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
    left = [name for name in answers.matters if name not in form.matters]
    if left:
        yield f"  # Left out, for the budget does not bear it: {', '.join(left)}."
    yield ""
    yield "# These cells get a verdict; all others are measured and shown without one."
    yield "decide:"
    yield from (f"  - {cell}" for name in form.matters for cell in MATTERS[name].decide)


def _where(users: str) -> str:
    return {"us": "the US", "south-america": "South America"}.get(users, users.capitalize())
