"""Needs from a machine that is known: at least as good as it, by the measurements of a public table."""

import math
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from cloudcmp.answer.choice.lookup import better_of, numbers_of
from cloudcmp.answer.choice.needs import Need, Op
from cloudcmp.catalog.parameters import hint
from cloudcmp.catalog.public_tables import CPUS, LIKE, PUBLIC_COLUMNS, PublicColumn
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import Market, Numbers, Texts
from cloudcmp.model.metric import Better
from cloudcmp.model.tool import UnclearOutput
from cloudcmp.programs import find_program
from cloudcmp.tools import READERS

WHERE = "--like"
LOCAL = "local"
"""The machine that runs cloudcmp, measured now."""
AS_GOOD = 0.03
"""A machine counts as at least as good if it is at most this share worse: practically the same."""
_DEADLINE_S = 120.0
_GIB = 2**30
_QUIET = 0.9
_LARGE = 1e5
_VERSION = re.compile(r"\d+\.\d[\w.]*")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The needs that a machine sets, and what is not comparable, in words."""

    needs: tuple[Need, ...]
    notes: tuple[str, ...]


def needs_like(
    name: str, market: Market, columns: Sequence[str] = (), say: Callable[[str], None] = lambda _: None
) -> Wanted:
    """The needs of being at least as good as a machine: `local`, which is measured now, or an offering of the market.

    Measures with the tool and settings of the table's own columns, for about 20 s each. `columns` are those that count;
    by default the scores of stress-ng and openssl. Its memory counts as well.

    Raises UserMistake if the offering is unknown or ambiguous, a column has no known direction, or nothing can be
    measured here.
    """
    wanted = columns or [one for one in LIKE if one in market.columns]
    if not wanted:
        known = ", ".join(LIKE)
        raise UserMistake.at(WHERE, f"no source has a column of {known}", "name the columns that count with --on")
    found = [numbers_of(market, one, "--on") for one in wanted]
    directions = [_direction(one) for one in found]
    notes: list[str] = []
    row = None
    if name == LOCAL:
        values = [_measured(one.name, say, notes) for one in found]
        memory: float | None = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    else:
        row = _row(name, market)
        values = [float(one.value[row]) for one in found]
        memory = _memory(market, row)
    notes += [f"{one.name} of {name} is unknown: it does not count" for one, value in zip(found, values, strict=True)
              if math.isnan(value) and name != LOCAL]  # fmt: skip
    needs = [
        _need(one, value, better, name, row)
        for one, value, better in zip(found, values, directions, strict=True)
        if not math.isnan(value)
    ]
    if not needs:
        raise UserMistake.at(WHERE, f"nothing of {name} is known: {'; '.join(notes)}", "name other columns with --on")
    if memory is not None and "memory_gib" in market.columns:
        needs.append(_need(market.columns["memory_gib"], memory, Better.HIGHER, name, row))
    return Wanted(tuple(needs), tuple(notes))


def _direction(column: Numbers) -> Better:
    better = better_of(column)
    if better is None:
        what = f"whether more of {column.name!r} is better is not known here"
        raise UserMistake.at("--on", what, f"write --require '{column.name} >= ...' instead")
    return better


def _need(column: Numbers | Texts, value: float, better: Better, name: str, row: int | None) -> Need:
    """The need of one column; a single measurement of the machine in the row, or of this one, may be off itself."""
    higher = better is Better.HIGHER
    limit = value * (1 - AS_GOOD) if higher else value * (1 + AS_GOOD)
    op = Op.AT_LEAST if higher else Op.AT_MOST
    is_single = isinstance(column, Numbers) and column.is_measured and column.launches is None
    like = (-1 if row is None else row) if is_single else None
    shown = f"{value:,.0f}" if value >= _LARGE else f"{value:.6g}"
    return Need(f"{column.name} as good as {name}'s {shown}", column.name, op, (repr(limit),), like=like)


def _row(name: str, market: Market) -> int:
    rows = [at for at, key in enumerate(market.keys) if name in {key.name, str(key), f"{key.provider}/{key.name}"}]
    if not rows:
        near = hint(name, {key.name for key in market.keys}) or "write provider/region/name"
        raise UserMistake.at(WHERE, f"no source has an offering {name!r}", near)
    kinds = {(market.keys[at].provider, market.keys[at].name) for at in rows}
    if len(kinds) > 1:
        whole = ", ".join(sorted(f"{provider}/{name}" for provider, name in kinds)[:3])
        raise UserMistake.at(WHERE, f"{name!r} is {len(kinds)} offerings: {whole}", "name its provider too")
    return rows[0]


def _memory(market: Market, row: int) -> float | None:
    column = market.columns.get("memory_gib")
    value = float(column.value[row]) if isinstance(column, Numbers) else math.nan
    return None if math.isnan(value) else value


def _measured(column: str, say: Callable[[str], None], notes: list[str]) -> float:
    """A column's value of this machine; NaN with a note if it cannot be measured here."""
    public = PUBLIC_COLUMNS.get(column)
    if public is None or not public.command:
        notes.append(f"{column} is not measured here: how the table ran its tool is not known")
        return math.nan
    if find_program(public.command[0]) is None:
        notes.append(f"{column} is not measured here: {public.command[0]} is not installed")
        return math.nan
    say(f"measuring {column} with {public.tool} on all that this machine has, for about 20 s")
    try:
        readings = _readings(public, _output(_filled(public)))
        value = readings[public.measure]
    except (UnclearOutput, OSError, subprocess.SubprocessError) as error:
        notes.append(f"{column} is not measured here: {str(error).splitlines()[0][:200]}")
        return math.nan
    notes += [one for one in (*_busy(readings, _filled(public)), *_versions(public)) if one not in notes]
    return value


def _busy(readings: Mapping[str, float], command: Sequence[str]) -> Iterator[str]:
    """A note if stress-ng's workers had less than 90 % of their processors."""
    by_time = readings.get("bogo_ops_by_cpu_time")
    if by_time:
        share = readings["bogo_ops"] / by_time / int(command[command.index("--cpu") + 1])
        if share < _QUIET:
            yield f"this machine was busy: stress-ng had {share * 100:.0f} % of its processors, so it looks slower"


def _filled(public: PublicColumn) -> tuple[str, ...]:
    return tuple(word.replace(CPUS, str(len(os.sched_getaffinity(0)))) for word in public.command)


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_DEADLINE_S, check=False, errors="replace")
    if done.returncode:
        raise UnclearOutput(f"{command[0]} ended with {done.returncode}")
    return done.stdout + done.stderr


def _readings(public: PublicColumn, text: str) -> dict[str, float]:
    """The values of a tool's measures, with the one that is wanted."""
    (report,) = READERS[public.tool].reports(text)[:1]
    readings = {one.measure: one.value for one in report.readings}
    if public.measure not in readings:
        raise UnclearOutput(f"{public.tool} printed no {public.measure}")
    return readings


def _versions(public: PublicColumn) -> Iterator[str]:
    here = _version(public.asked)
    if here != public.version:
        yield (
            f"{public.tool} is {here or 'of an unknown version'} here and {public.version} in the table: "
            "their scores may differ on the same machine"
        )


@cache
def _version(command: tuple[str, ...]) -> str:
    try:
        found = _VERSION.search(_output(command))
    except (UnclearOutput, OSError, subprocess.SubprocessError):
        return ""
    return found[0] if found else ""
