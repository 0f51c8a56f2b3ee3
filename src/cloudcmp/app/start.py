"""From five answers to a study file, its quote, and what public price lists say at once; nothing is created."""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any

from cloudcmp.app.plan import plan_text
from cloudcmp.app.provider_clients import brief, opened
from cloudcmp.catalog import METRICS
from cloudcmp.cost.offering_prices import booked
from cloudcmp.errors import CloudcmpError, UserMistake
from cloudcmp.model.offering import Match, Offering
from cloudcmp.model.plan import Plan
from cloudcmp.model.protocol import Provider
from cloudcmp.owned_folder import FOR_ALL, OwnedPath, new_file
from cloudcmp.plan.match import nearest_offering
from cloudcmp.provider.registry import ProviderOptions, names
from cloudcmp.study import starter
from cloudcmp.study.starter import Answers, Form
from cloudcmp.units import Money, format_money, format_seconds

DEADLINE_S = 10.0
"""How long a cloud may take to say whether it takes the credentials."""
_CHEAPEST = 3
_MOST_MEMORY = 2.0
_FARTHEST = 4.0
_ROOM_OF_NAME = 60
_NO_WAY_IN = frozenset({"credentials", "extra", "settings", "answer"})


@dataclass(frozen=True, slots=True)
class Signs:
    """Where credentials of a cloud may be: variables that begin so, files under home, or this machine being one of its.

    `maker` is what the firmware of its own machines says.
    """

    variables: tuple[str, ...]
    files: tuple[str, ...]
    maker: tuple[str, str] | None = None


SIGNS = {
    # https://cloud.google.com/docs/authentication/application-default-credentials;
    # https://cloud.google.com/compute/docs/instances/detect-compute-engine (R)
    "gcp": Signs(("GOOGLE_APPLICATION_", "GOOGLE_CLOUD_", "GCE_METADATA_", "CLOUDSDK_AUTH_", "CLOUDSDK_CONFIG",
                  "CLOUDCMP_GCP_"), (".config/gcloud/application_default_credentials.json",),
                 ("product_name", "Google")),
    # https://learn.microsoft.com/python/api/overview/azure/identity-readme; the tag of its machines (R)
    "azure": Signs(("AZURE_", "ARM_", "MSI_", "IDENTITY_", "CLOUDCMP_AZURE_"), (".azure",),
                   ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77")),
    # https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html
    **dict.fromkeys(("openstack", "rackspace"), Signs(("OS_", "XDG_CONFIG"), (".config/openstack", "/etc/openstack",
                                                      "/etc/xdg/openstack", "./clouds.yaml", "./clouds.yml",
                                                      "./clouds.json"))),
    "ec2": Signs(("AWS_ENDPOINT_URL",), ()),  # it is where the environment says
}  # fmt: skip
"""Clouds whose client libraries take many seconds to find out that there are no credentials."""
_FIRMWARE = Path("/sys/class/dmi/id")


def signs_of(name: str, environ: Mapping[str, str], home: Path, firmware: Path = _FIRMWARE) -> bool:
    """Whether there may be credentials of a cloud here: where that is not known without asking, there may be."""
    signs = SIGNS.get(name)
    if signs is None or any(key.startswith(signs.variables) for key in environ):
        return True
    if any((Path(file) if file.startswith("./") else home / file).exists() for file in signs.files):
        return True
    if signs.maker is None:
        return False
    file, maker = signs.maker
    try:
        return maker in (firmware / file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class Seen:
    """Whether a cloud can be used from here, and why, in a line."""

    provider: str
    usable: bool
    text: str


@dataclass(frozen=True, slots=True)
class Started:
    """What came of the answers: the study's file and plan, what was seen, and what price lists say.

    `cheapest` are offerings of the asked size by price list, not measured. `unlisted` are the clouds, with their
    regions, of which the price book knows no price of that size. `left_out` says why a usable cloud has no candidate.
    """

    path: Path
    text: str
    plan: Plan
    answers: Answers
    form: Form
    seen: tuple[Seen, ...]
    clouds: tuple[str, ...]
    cheapest: tuple[Offering, ...]
    unlisted: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]


def look(within_s: float = DEADLINE_S) -> tuple[Seen, ...]:
    """Which clouds take the credentials that are here: all are asked at once, and none is waited for any longer."""
    from cloudcmp.execute.interruptible import ask

    known = [name for name in starter.CLOUDS if name in names()]
    likely = [name for name in known if signs_of(name, os.environ, Path.home())]
    providers, unavailable = opened(likely, ProviderOptions(metrics=METRICS))
    missing = [Seen(one.provider, False, ", ".join(filter(None, (one.what, one.next)))) for one in unavailable]
    missing += [Seen(name, False, f"no sign of credentials; see: cloudcmp check {name}")
                for name in known if name not in likely]  # fmt: skip
    return tuple(sorted((*ask(_all_seen(providers, within_s)), *missing), key=lambda one: one.provider))


async def _all_seen(providers: Mapping[str, Provider], within_s: float) -> Sequence[Seen]:
    return await asyncio.gather(*(_seen(name, one, within_s) for name, one in providers.items()))


async def _seen(name: str, provider: Provider, within_s: float) -> Seen:
    try:
        findings = await asyncio.wait_for(provider.check(()), within_s)
    except TimeoutError:
        return Seen(name, False, f"it did not answer within {within_s:g} s")
    except ImportError as error:
        return Seen(name, False, f"{error.name} is not installed: add the extra cloudcmp[{name}]")
    except (CloudcmpError, OSError) as fault:
        return Seen(name, False, brief(fault))
    bad = next((one for one in findings if one.ok is False and one.what in _NO_WAY_IN), None)
    if bad is not None:
        return Seen(name, False, f"{bad.text}; {bad.next}" if bad.next else bad.text)
    told = next((one.text for one in findings if one.what in {"credentials", "account"}), "it answers")
    return Seen(name, True, told)


def start(told: Answers, path: Path, seen: Sequence[Seen], say: Callable[[str], None] = lambda _: None) -> Started:
    """Make the study that the answers ask for, as dear as the budget bears, and write it to a file that is not there.

    Raises UserMistake where the file is there already, nothing near the size is sold, or the budget does not bear even
    the smallest study.
    """
    check_free(path)
    usable = [one.provider for one in seen if one.usable]
    clouds: list[str] = []
    left_out: list[str] = []
    far: list[Offering] = []
    least = Form(starter.LEAST_LAUNCHES, 1, told.matters[:1])
    for name in usable:
        say(f"asking {name} what it sells in {starter.region_of(told.users, name)}")
        try:
            sold = _planned(told, [name], least, path).candidates[0].offering
        except CloudcmpError as fault:
            left_out.append(f"{name} is left out: {brief(fault)}")
            continue
        if _is_far(told, sold):
            far.append(sold)
            left_out.append(f"{name} is left out: the nearest that it sells there is {sold.name}, {_size(sold)}")
        else:
            clouds.append(name)
    if not clouds:
        _check_size(told, far or [one.offering for one in _planned(told, (), least, path).candidates])
    plans: dict[Form, Plan] = {}  # planning asks each cloud what it sells

    def worst(form: Form) -> Money | None:
        plans[form] = _planned(told, clouds, form, path)
        return plans[form].quote.worst_cost

    form, money = starter.fitting(told.matters, worst, told.budget)
    _check_budget(told.budget, money)
    text, plan = starter.starter_text(told, clouds, form), plans[form]
    cheapest, unlisted = by_price_list(told)
    _write(path, text)
    return Started(path, text, plan, told, form, tuple(seen), tuple(clouds), cheapest, tuple(unlisted), tuple(left_out))


def check_free(path: Path) -> None:
    """Raise UserMistake where a file is there already, or is not named as a study is."""
    if path.suffix not in {".yaml", ".yml"} or len(path.stem) > _ROOM_OF_NAME:
        raise UserMistake.at(str(path), "is no name for a study file", "write e.g. --out web.yaml")
    if os.path.lexists(path):
        raise UserMistake.at(str(path), "is there already, and is not overwritten", "name another file with --out")
    folder = path.absolute().parent
    if not (folder.is_dir() or (folder.parent.is_dir() and not os.path.lexists(folder))):
        raise UserMistake.at(str(path.parent), "no such folder", "make it, or name another file with --out")


def _is_far(told: Answers, sold: Offering) -> bool:
    """Whether an offering has more than four times or less than a quarter of what was asked for."""
    pairs = ((told.vcpus, sold.vcpus), (told.memory_gib, sold.memory_gib))
    return any(had is None or not 1 / _FARTHEST <= had / wanted <= _FARTHEST for wanted, had in pairs)


def _check_size(told: Answers, sold: Sequence[Offering]) -> None:
    """Raise UserMistake where nothing that is sold comes near the asked size."""
    if not all(_is_far(told, one) for one in sold):
        return
    nearest = nearest_offering(Match(told.vcpus, told.memory_gib), sold) or sold[0]
    where = f"{nearest.provider}/{nearest.region}/{nearest.name}"
    what = f"nothing like {told.vcpus}/{told.memory_gib} is sold; the nearest is {where}, {_size(nearest)}"
    raise UserMistake.at("--size", what, f"write e.g. --size {nearest.vcpus:.0f}/{nearest.memory_gib:.0f}")


def _check_budget(budget: Money, worst: Money | None) -> None:
    """Raise UserMistake with the least budget where the smallest study could cost more."""
    if worst is None or worst.currency != budget.currency or worst.amount <= budget.amount:
        return
    cents = worst.amount.quantize(Decimal("0.01"), rounding=ROUND_CEILING)
    what = f"{budget.amount} {budget.currency} does not bear the smallest study that gives a verdict"
    next_ = f"it takes at least {cents} {worst.currency}; or take smaller machines"
    raise UserMistake.at("--budget", what, next_)


def _planned(told: Answers, clouds: Sequence[str], form: Form, path: Path) -> Plan:
    return plan_text(starter.starter_text(told, clouds, form), path.name)


def _write(path: Path, text: str) -> None:
    """Write a file that is not there, whole or not at all."""
    part = f".{path.name}.{os.getpid()}.part"
    path.parent.mkdir(exist_ok=True)
    with OwnedPath(path.parent).folder() as folder:
        try:
            with new_file(folder, part, FOR_ALL) as file:
                file.write(text.encode())
            os.link(part, path.name, src_dir_fd=folder, dst_dir_fd=folder)  # fails where somebody was quicker
        except FileExistsError:
            raise UserMistake.at(str(path), "is there already, and is not overwritten", "name another file") from None
        finally:
            with suppress(FileNotFoundError):
                os.unlink(part, dir_fd=folder)


def by_price_list(told: Answers) -> tuple[tuple[Offering, ...], list[tuple[str, str]]]:
    """The cheapest offerings of the asked size near the users by the price book, a few of each cloud; not measured.

    Of the size: as many vCPUs, and at least the memory but not more than twice. Also the clouds without any.
    """
    found: list[Offering] = []
    unlisted = []
    for name in starter.CLOUDS:
        region = starter.region_of(told.users, name)
        fits = [one for one in booked(name, region) if _fits(told, one)]
        fits.sort(key=lambda one: (one.price.amount_per_hour if one.price else 0, one.name))
        found += fits[:_CHEAPEST]
        if not fits:
            unlisted.append((name, region))
    return tuple(sorted(found, key=lambda one: one.price.amount_per_hour if one.price else 0)), unlisted


def _fits(told: Answers, sold: Offering) -> bool:
    if sold.price is None or sold.vcpus != told.vcpus or sold.memory_gib is None:
        return False
    return told.memory_gib <= sold.memory_gib <= told.memory_gib * _MOST_MEMORY


def prices_table(found: Sequence[Offering]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The columns and rows of offerings by price list."""
    rows = [(f"{one.provider} {one.name}", one.region, _size(one), _per_hour(one), _dated(one)) for one in found]
    return ("offering", "region", "size", "an hour", "price of"), list(rows)


def _size(one: Offering) -> str:
    return f"{one.vcpus:g} vCPUs, {one.memory_gib:g} GiB"


def _per_hour(one: Offering) -> str:
    return "unknown" if one.price is None else f"{one.price.amount_per_hour.normalize():f} {one.price.currency}"


def _dated(one: Offering) -> str:
    return "unknown" if one.price is None else f"{one.price.as_of or 'undated'}"


def told_of(found: Started) -> Iterator[str]:
    """What the study takes, and what is to be known of it, a line each."""
    quote, told = found.plan.quote, found.answers
    runs = "1 run" if found.form.runs == 1 else f"{found.form.runs} runs"
    yield f"{len(found.plan.candidates)} candidates, {found.form.launches} rounds, {runs} on each launch"
    for one in found.plan.candidates:
        if one.differs:
            yield f"{one.id} differs from what was asked: {', '.join(one.differs)}"
    if not found.clouds:
        yield f"expected time: simulated: seconds; on real clouds {format_seconds(quote.expected_s)}"
        yield "simulated: all numbers are planted, nothing is created and nothing is billed"
    else:
        yield f"expected time: {format_seconds(quote.expected_s)}"
    yield from _told_of_money(quote.worst_cost, told.budget, billed=bool(found.clouds))
    dropped = [name for name in told.matters if name not in found.form.matters]
    if dropped:
        yield f"left out, for the budget does not bear it: {', '.join(dropped)}"
    yield from found.left_out
    yield from quote.notes


def _told_of_money(worst: Money | None, budget: Money, *, billed: bool) -> Iterator[str]:
    if not billed:
        if worst is not None:
            yield f"at the planted prices: {format_money(worst)} at worst, of {format_money(budget)}"
            if worst.currency != budget.currency:
                yield f"planted prices are in {worst.currency}, the budget in {budget.currency}: they are not compared"
        yield "the budget is not enforced on simulated clouds, for they bill nothing"
    elif worst is None:
        yield "worst case: unknown, because a price is; nothing is created as long as it is"
    else:
        yield f"worst case: {format_money(worst)} of {format_money(budget)}"
        if worst.currency != budget.currency:
            yield f"its prices are in {worst.currency}, the budget in {budget.currency}: write one"


def next_commands(found: Started) -> list[str]:
    """The exact commands that come next, in their order."""
    folder = found.path.with_suffix("")
    unknown = found.clouds and found.plan.quote.worst_cost is None
    missing = [f"cloudcmp fetch {name} --region {region}" for name, region in found.unlisted if name in found.clouds]
    return [
        *(missing if unknown else []),
        f"cloudcmp plan {found.path}",
        *([f"cloudcmp check {found.path}"] if found.clouds else []),
        f"cloudcmp run {found.path} --out {folder}",
        f"cloudcmp report {folder} --out {folder}.html",
    ]


def as_data(found: Started) -> dict[str, Any]:
    """The answer as the JSON document's data."""
    return {
        "study": found.path,
        "answers": found.answers,
        "providers": [{"provider": one.provider, "usable": one.usable, "text": one.text} for one in found.seen],
        "simulated": not found.clouds,
        "by_price_list": found.cheapest,
        "candidates": [one.offering for one in found.plan.candidates],
        "launches": found.form.launches,
        "runs": found.form.runs,
        "matters": found.form.matters,
        "quote": found.plan.quote,
        "next": next_commands(found),
    }
