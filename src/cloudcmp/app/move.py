"""Predicts what it takes to move data into a region, to refresh it, and to leave again."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cloudcmp.app.option_values import above_zero
from cloudcmp.app.rates_of_study import rates_of_study
from cloudcmp.app.region_prices import BOOK, egress_prices
from cloudcmp.catalog.shipped_devices import SHIPPED_DEVICES
from cloudcmp.errors import UserMistake
from cloudcmp.model.move import MoveAnswer, ShippedDevice, Throughput
from cloudcmp.model.placement import PriceTier
from cloudcmp.model.result import Bounds
from cloudcmp.model.wide_area import Site
from cloudcmp.store.egress_prices import EgressPrices
from cloudcmp.store.shipped_devices import read_devices
from cloudcmp.store.throughputs import Pair, place_name, read_throughputs
from cloudcmp.units import parse_bytes, parse_money, parse_rate

if TYPE_CHECKING:
    from cloudcmp.answer.move.predict import MovePrices, Price

HERE = "your own place"
_FREE = "none"
_SHOWN = 4
_MONTHS = 12.0


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """What is moved where, as text: `size` such as `50 TB`, `to` and `origin` such as `aws/us-east-1`.

    `refresh` is bytes a day, `100 GB/day`, for `months` (12). `rate` and `rate_out` replace measured throughput.
    `egress` is a table of prices, or `prices`. `ingress` is `0.02 USD/GB`, `put` and `get` are `0.005 USD/1000`; `none`
    says that nothing is taken, nothing at all that the price is unknown. `object_size` is the mean size of an object,
    `disks` a table of shipped devices. `anonymise` replaces the names of providers, regions and devices.
    """

    size: str
    to: str
    origin: str | None = None
    refresh: str | None = None
    months: float | None = None
    rate: str | None = None
    rate_out: str | None = None
    egress: str | None = None
    ingress: str | None = None
    object_size: str | None = None
    put: str | None = None
    get: str | None = None
    disks: Path | None = None
    anonymise: bool = False


def predict_move(
    sources: Sequence[str], asked: MoveRequest, *, progress: Callable[[str], None] = lambda _: None
) -> tuple[MoveAnswer, tuple[str, ...]]:
    """Predict a move; the second part are notes on its sources.

    `sources` are tables of throughput, or studies with large pages from vantage points, or with `tcp_bytes_per_s`
    between regions.

    Raises UserMistake for an option or a file that cannot be read, and for a direction whose throughput is unknown.
    """
    from cloudcmp.answer.move.predict import Move, predicted

    size = _bytes("--size", asked.size)
    to = place_name(asked.to)
    if "/" not in to:
        raise UserMistake.at("--to", f"{asked.to!r} names no region", "write e.g. aws/us-east-1")
    months = _MONTHS if asked.months is None else asked.months
    if not 0 < months < math.inf:
        raise UserMistake.at("--months", f"{months:g} is no number above zero", "write e.g. 12")
    if asked.months is not None and asked.refresh is None:
        raise UserMistake.at("--months", "nothing is refreshed", "add --refresh '100 GB/day', or leave --months out")
    values, notes = _measured(sources, progress)
    origin = place_name(asked.origin) if asked.origin else HERE
    if origin == to:
        raise UserMistake.at("--from", f"the data are in {to} already", "name another region with --to")
    inward = _rate("--rate", asked.rate, values, (origin, to))
    if asked.rate_out is None and asked.rate is not None and (to, origin) not in values:
        outward = inward
        notes += ("the rate out of the region is taken as that into it: give it with --rate-out",)
    else:
        outward = _rate("--rate-out", asked.rate_out, values, (to, origin))
    for given, pair in ((asked.rate, (origin, to)), (asked.rate_out, (to, origin))):
        if given is not None and pair in values:
            notes += (f"the rate given from {pair[0]} to {pair[1]} stands in place of {len(values[pair][0])} measured",)
    prices, more = _prices(asked, origin, to)
    devices = _devices(asked.disks, origin, to)
    move = Move(
        size, _refresh(asked.refresh) if asked.refresh else 0.0, months,
        _bytes("--object", asked.object_size) if asked.object_size else None,
    )  # fmt: skip
    found = predicted(move, inward, outward, prices, devices, origin, to), (*notes, *more)
    if not asked.anonymise:
        return found
    from cloudcmp.report.wide_area_names import anonymous_move

    tables = [] if asked.egress in {None, BOOK} else [str(asked.egress)]
    return anonymous_move(*found, HERE, [*sources, *tables])


def _measured(
    sources: Sequence[str], progress: Callable[[str], None]
) -> tuple[dict[Pair, tuple[tuple[float, ...], str]], tuple[str, ...]]:
    """The measured rates of each pair with their source, and notes on what the sources held besides."""
    found: dict[Pair, tuple[tuple[float, ...], str]] = {}
    notes: tuple[str, ...] = ()
    for source in sources:
        progress(f"reading {source}")
        rates = rates_of_study(source) if Path(source).is_dir() else read_throughputs(Path(source))
        notes += rates.notes
        for pair, some in rates.values.items():
            before, names = found.get(pair, ((), ""))
            found[pair] = ((*before, *some), f"{names}, {rates.source}" if names else rates.source)
    return found, notes


def _rate(
    option: str, given: str | None, values: Mapping[Pair, tuple[tuple[float, ...], str]], pair: Pair
) -> Throughput:
    if given is not None:
        rate = above_zero(option, given, parse_rate, "1 Gbit/s")
        return Throughput(rate, None, 0, rate, rate, "given")
    if pair not in values:
        raise UserMistake.at(option, f"no throughput from {pair[0]} to {pair[1]} is known", _advice(values, pair))
    return throughput(*values[pair])


def _advice(values: Mapping[Pair, object], pair: Pair) -> str:
    others = sorted(one for one, to in values if to == pair[1])
    if pair[0] == HERE and others:
        return f"say where the data are with --from, one of {', '.join(others[:_SHOWN])}, or give the rate"
    if others:
        more = ", ..." if len(others) > _SHOWN else ""
        return f"measured to {pair[1]} are {', '.join(others[:_SHOWN])}{more}; or give the rate, e.g. '1 Gbit/s'"
    return "give it, e.g. '1 Gbit/s', or name a source that has it"


def throughput(values: Sequence[float], source: str) -> Throughput:
    """The geometric mean of measured rates with its interval: Student's, of their logarithms."""
    import numpy as np

    from cloudcmp.stats.describe import t_interval

    logs = np.log(values)
    interval = t_interval(logs) if len(values) > 1 else None
    bounds = None if interval is None else Bounds(float(np.exp(interval.low)), float(np.exp(interval.high)), 0.95)
    return Throughput(float(np.exp(logs.mean())), bounds, len(values), min(values), max(values), source)


def _prices(asked: MoveRequest, origin: str, to: str) -> "tuple[MovePrices, tuple[str, ...]]":
    from cloudcmp.answer.move.predict import MovePrices, Price

    sites = [Site(*one.partition("/")[::2]) for one in (origin, to) if "/" in one]
    table = EgressPrices({}, {}, "USD", "") if asked.egress is None else egress_prices(asked.egress, sites)
    put, get = (_request(option, text, table.currency) for option, text in (("--put", asked.put), ("--get", asked.get)))
    counted = asked.object_size is not None
    if not counted and (put or get):
        raise UserMistake.at(
            "--put" if put else "--get", "how many requests there are is unknown", "add --object '8 MB'"
        )
    prices = MovePrices(
        origin_out=_between(table, origin, to) if "/" in origin else None,
        region_in=_ingress(asked.ingress, table.currency),
        region_out=_between(table, to, origin),
        put=(put or Price()) if counted else None, get=(get or Price()) if counted else None,
        currency=table.currency,
    )  # fmt: skip
    used = (f"prices of traffic are those of {table.source}",) if asked.egress and asked.egress != BOOK else ()
    return prices, (*table.notes, *used)


def _between(table: EgressPrices, origin: str, to: str) -> "Price":
    """What a GB costs that goes from one place to another: that of the pair, else that to the internet."""
    from cloudcmp.answer.move.predict import Price

    provider, _, region = origin.partition("/")
    there, _, other = to.partition("/")
    pair = table.between.get(((provider, region), (there, other))) or table.between.get((("", region), ("", other)))
    if pair and there:
        return Price((PriceTier(0.0, pair),))
    return Price(table.of(provider, region))


def _ingress(text: str | None, currency: str) -> "Price":
    from cloudcmp.answer.move.predict import Price

    if text is None:
        return Price()
    if text.strip().lower() == _FREE:
        return Price(free=True)
    return Price((PriceTier(0.0, _money("--ingress", text, "GB", currency, "'0.02 USD/GB', or none")),))


def _request(option: str, text: str | None, currency: str) -> "Price | None":
    from cloudcmp.answer.move.predict import Price

    if text is None:
        return None
    if text.strip().lower() == _FREE:
        return Price(free=True)
    return Price((PriceTier(0.0, _money(option, text, "1000", currency, "'0.005 USD/1000', or none") / 1000),))


def _money(option: str, text: str, unit: str, currency: str, example: str) -> float:
    money, slash, of = text.rpartition("/")
    if not slash or of.strip() != unit:
        raise UserMistake.at(option, f"{text!r} is no price for {unit}", f"write e.g. {example}")
    try:
        found = parse_money(money)
    except ValueError as error:
        raise UserMistake.at(option, str(error).split("; ", 1)[0], f"write e.g. {example}") from None
    if found.currency != currency:
        what = f"it is in {found.currency} and the prices are in {currency}"
        raise UserMistake.at(option, what, f"write it in {currency}")
    return float(found.amount)


def _bytes(option: str, text: str) -> float:
    return float(above_zero(option, text, parse_bytes, "50 TB"))


def _refresh(text: str) -> float:
    size, slash, period = text.rpartition("/")
    if not slash or period.strip() != "day":
        raise UserMistake.at("--refresh", f"{text!r} is no amount for a day", "write e.g. '100 GB/day'")
    return _bytes("--refresh", size)


def _devices(path: Path | None, origin: str, to: str) -> tuple[ShippedDevice, ...]:
    """The devices of a table; else those of the region's provider, unless the data are in another cloud."""
    if path is not None:
        return read_devices(path)
    provider = to.partition("/")[0]
    return () if "/" in origin else tuple(one for one in SHIPPED_DEVICES if one.provider == provider)
