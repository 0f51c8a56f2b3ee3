"""What the tables are written with: the words that return in many of them."""

from cloudcmp.model.cast import Role
from cloudcmp.model.metric import Better, Group, Metric, Param, ParamKind, Reduce, Suite

PEERS = (Role.SERVER, Role.CLIENT)
INTERVAL = Param("interval_s", ParamKind.SECONDS, "1", "one value is shown for each such interval")


def compute(
    name: str,
    unit: str,
    better: Better,
    reduce: Reduce,
    params: tuple[str, ...],
    typical: float,
    doc: str,
    excludes: str,
    *,
    sparse: bool = False,
    **free: str,
) -> Metric:
    """A metric of one machine; the values of a free parameter stand side by side in one text."""
    named = tuple((key, tuple(values.split())) for key, values in free.items())
    return Metric(name, unit, better, Group.COMPUTE, reduce, params, doc, excludes, typical, free=named, sparse=sparse)


def threads(default: str = "one") -> Param:
    """How many threads a probe runs."""
    return Param("threads", ParamKind.THREADS, default, "one, all (every processor given), or a number", ("one", "all"))


def duration(default: str = "1") -> Param:
    """How long a probe measures."""
    return Param("duration_s", ParamKind.SECONDS, default, "length of the measured phase")


def size(default: str, doc: str = "payload of one message or blob") -> Param:
    """A size in bytes."""
    return Param("size_bytes", ParamKind.BYTES, default, doc)


def choice(name: str, words: str, doc: str, short: str | None = None) -> Param:
    """One of some words, the first of which is the default."""
    choices = tuple(words.split())
    return Param(name, ParamKind.CHOICE, choices[0], doc, choices, short)


def suite(name: str, doc: str, *probes: tuple[str, dict[str, str]]) -> Suite:
    """A suite; a parameter's values stand side by side in one text."""
    return Suite(
        name,
        tuple(
            (probe, tuple((key, tuple(values.split())) for key, values in params.items())) for probe, params in probes
        ),
        doc,
    )
