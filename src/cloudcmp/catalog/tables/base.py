"""Helpers of the tables: metrics, parameters and suites in short form."""

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
    """A metric of one machine; the values of a free parameter are words of one text."""
    named = tuple((key, tuple(values.split())) for key, values in free.items())
    return Metric(name, unit, better, Group.COMPUTE, reduce, params, doc, excludes, typical, free=named, sparse=sparse)


def threads(default: str = "one") -> Param:
    """A parameter: the number of threads of a probe."""
    return Param("threads", ParamKind.THREADS, default, "one, all (every processor given), or a number", ("one", "all"))


def duration(default: str = "1") -> Param:
    """A parameter: the length of the measured phase."""
    return Param("duration_s", ParamKind.SECONDS, default, "length of the measured phase")


def size(default: str, doc: str = "payload of one message or blob") -> Param:
    """A parameter: a size in bytes."""
    return Param("size_bytes", ParamKind.BYTES, default, doc)


def choice(name: str, words: str, doc: str, short: str | None = None) -> Param:
    """A parameter with a choice of words; the first one is the default."""
    choices = tuple(words.split())
    return Param(name, ParamKind.CHOICE, choices[0], doc, choices, short)


def suite(name: str, doc: str, *probes: tuple[str, dict[str, str]]) -> Suite:
    """A suite; the values of a parameter are words of one text."""
    return Suite(
        name,
        tuple(
            (probe, tuple((key, tuple(values.split())) for key, values in params.items())) for probe, params in probes
        ),
        doc,
    )
