"""The studies of published documents hold exactly what the documents print.

Each row of printed.csv: the study, where in it, what must be there, the document's words in few, and where they stand.
Paths: a field of the study; `sessions.n`; `candidate <region>/<offering>[+<volume>].<field>`; and
`probe <name>[key=value].<param>` with all values that the study gives to a parameter, in base units, or with `.runs`,
`.total` (runs x launches) or `.count` (of combinations).
"""

import csv
import re
from functools import cache
from pathlib import Path

import pytest

from cloudcmp.catalog import fill
from cloudcmp.model.cast import ServiceKind
from cloudcmp.model.study import Study
from cloudcmp.plan import published_providers
from cloudcmp.plan.published_offerings import published_offerings
from cloudcmp.study import read

FOLDER = Path(__file__).parents[2] / "studies"
SEEDS = ("cloudcmp-2010", "deval-2017", "rodamilans-2014", "delgado-2010", "shah")
PRINTED = (Path(__file__).parent / "printed.csv").read_text(encoding="utf-8")
ROWS = [tuple(row) for row in csv.reader(PRINTED.splitlines())][1:]
# What no document prints and a study must still say, each explained by a comment in the study.
OURS: dict[str, set[tuple[str, str]]] = {
    "cloudcmp-2010": {("page", "count"), ("page", "every_address"), ("page", "size_bytes"), ("page", "vantage")},
    "deval-2017": {("tcp", "path")},
    "rodamilans-2014": {("disk", "op"), ("disk", "pattern"), ("disk", "durability")},
    "delgado-2010": {
        ("iozone", "durability"),
        ("pi", "intensity"),
        ("stream", "intensity"),
        ("rtt", "path"),
        ("rtt", "protocol"),
        ("rtt", "interval_s"),
        ("udp", "path"),
    },
    "shah": {
        ("disk", "durability"),
        ("iozone", "op"),
        ("iozone", "durability"),
        ("tcp", "path"),
        ("udp", "path"),
        ("rtt", "path"),
    },
}
_PROBE = re.compile(r"probe (\w+)(?:\[(\w+)=(\w+)\])?\.(\w+)")
_DAYS = {"weekdays": (0, 1, 2, 3, 4), "weekend": (5, 6)}


@cache
def study_of(name: str) -> Study:
    return read(FOLDER / f"{name}.yaml", providers=published_providers() | {"aws", "qemu", "simulated", "ssh"})


def value_at(study: Study, path: str) -> object:
    """What a study holds at a path."""
    if path in {"launches", "every_s", "for_s"}:
        return getattr(study, path)
    if path in {"candidates", "sessions"}:
        return len(getattr(study, path))
    if path == "volumes":
        return {str(one.volume) for one in study.candidates}
    if path.startswith("sessions."):
        return next(name for name, days in _DAYS.items() if study.sessions[int(path[9:])].days == days)
    if path.startswith("candidate "):
        return _of_candidate(study, *path.removeprefix("candidate ").rsplit(".", 1))
    found = _PROBE.fullmatch(path)
    assert found, path
    return _of_probe(study, *found.groups())


def _of_candidate(study: Study, name: str, field: str) -> object:
    spec = next(
        one
        for one in study.candidates
        if name in {f"{one.region}/{one.offering}", f"{one.region}/{one.offering}+{one.volume}"}
    )
    if field == "price":
        assert spec.price is not None
        assert spec.price.currency == "USD"
        return spec.price.amount_per_hour
    sold = next(one for one in published_offerings(spec.provider, spec.region) if one.name == spec.offering)
    return getattr(sold, field)


def _of_probe(study: Study, name: str, key: str | None, value: str | None, field: str) -> object:
    specs = [(one, fill(one.probe, dict(one.params))) for one in study.probes if one.probe == name]
    specs = [(one, params) for one, params in specs if key is None or params[key] == value]
    assert specs, name
    if field == "count":
        return len(specs)
    runs = {one.runs or study.runs for one, _ in specs}
    if field in {"runs", "total"}:
        (each,) = runs
        return each if field == "runs" else each * study.launches
    return {params[field] for _, params in specs if field in params or field != "intensity"}


def as_text(value: object) -> str:
    """A value as printed.csv writes it."""
    if isinstance(value, set):
        return " ".join(sorted(value, key=lambda text: (len(text) if text.isdigit() else 0, text)))
    return f"{value:g}" if isinstance(value, float) else str(value)


@pytest.mark.parametrize(("name", "path", "expected", "quote", "where"), ROWS)
def test_the_study_holds_what_the_document_prints(name: str, path: str, expected: str, quote: str, where: str) -> None:
    assert as_text(value_at(study_of(name), path)) == expected, f"{where}: {quote}"


@pytest.mark.parametrize("name", SEEDS)
def test_every_parameter_that_a_study_sets_is_quoted(name: str) -> None:
    quoted = {
        (found[1], key)
        for row in ROWS
        if row[0] == name and (found := _PROBE.fullmatch(row[1]))
        for key in (found[2], found[4])
    }
    written = {(one.probe, key) for one in study_of(name).probes for key, _ in one.params}
    assert written - quoted <= OURS[name]


@pytest.mark.parametrize("name", SEEDS)
def test_every_printed_price_is_in_the_study(name: str) -> None:
    for spec in study_of(name).candidates:
        if spec.service is ServiceKind.HTTP:
            continue  # an endpoint at an address of the reader's: no offering, and no printed price
        known = [one for one in published_offerings(spec.provider, spec.region) if one.name == spec.offering]
        assert len(known) == 1
        assert (known[0].price and known[0].price.amount_per_hour) == (spec.price and spec.price.amount_per_hour)


@pytest.mark.parametrize("name", [*SEEDS, "aws-ssh-qemu", "demo", "scaling", "scaling-batch", "scaling-qemu"])
def test_every_study_says_first_what_it_asks_and_why(name: str) -> None:
    lines = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    head = lines[: next(number for number, line in enumerate(lines) if not line.startswith("#"))]
    assert head[0].endswith("?")
    assert len(head) >= 4
