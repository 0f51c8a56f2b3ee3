"""Makes a first study from five answers, with its quote and public prices; creates no resources."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import ROUND_CEILING, Decimal
from pathlib import Path

from cloudcmp.app.fetch import DownloadProgress, fetch
from cloudcmp.app.plan import plan_text
from cloudcmp.app.provider_clients import brief, open_clients
from cloudcmp.app.schema import write_schema
from cloudcmp.catalog import METRICS
from cloudcmp.cost.offering_prices import book_offerings
from cloudcmp.cost.sources.web import ReportProgress, Web
from cloudcmp.errors import CloudcmpError, ProviderFault, RefusedAnswer, UserMistake
from cloudcmp.execute.interruption import run_interruptible
from cloudcmp.model.offering import Match, Offering
from cloudcmp.model.plan import Plan
from cloudcmp.model.protocol import Provider
from cloudcmp.model.start import Answers, CloudAccess, FetchedPrices, Form, StarterStudy
from cloudcmp.owned_folder import FOR_ALL, OwnedPath, new_file
from cloudcmp.plan.candidates import nearest_offering
from cloudcmp.provider.credential_signs import signs_of
from cloudcmp.provider.registry import ProviderOptions, names
from cloudcmp.report.first_study import size_words
from cloudcmp.study import starter
from cloudcmp.units import Money, format_seconds

DEADLINE_S = 10.0
"""Deadline of a cloud for checking the credentials."""
FETCH_DEADLINE_S = 600.0
"""Deadline for the price lists of one cloud; Amazon's list of one region has hundreds of megabytes."""
_IDLE_S = 15.0
_CHEAPEST = 3
_MOST_MEMORY = 2.0
_FARTHEST = 4.0
_ROOM_OF_NAME = 60
_BLOCKING = frozenset({"credentials", "extra", "settings", "answer"})


def detect_clouds(within_s: float = DEADLINE_S) -> tuple[CloudAccess, ...]:
    """Whether each cloud accepts this machine's credentials; checks all at once, for at most `within_s` seconds."""
    known = [name for name in starter.CLOUDS if name in names()]
    likely = [name for name in known if signs_of(name, os.environ, Path.home())]
    providers, unavailable = open_clients(likely, ProviderOptions(metrics=METRICS))
    missing = [CloudAccess(one.provider, False, ", ".join(filter(None, (one.what, one.next)))) for one in unavailable]
    missing += [CloudAccess(name, False, f"no sign of credentials; see: cloudcmp check {name}")
                for name in known if name not in likely]  # fmt: skip
    return tuple(sorted((*run_interruptible(_check_all(providers, within_s)), *missing), key=lambda one: one.provider))


async def _check_all(providers: Mapping[str, Provider], within_s: float) -> Sequence[CloudAccess]:
    return await asyncio.gather(*(_check_cloud(name, one, within_s) for name, one in providers.items()))


async def _check_cloud(name: str, provider: Provider, within_s: float) -> CloudAccess:
    try:
        findings = await asyncio.wait_for(provider.check(()), within_s)
    except TimeoutError:
        return CloudAccess(name, False, f"it did not answer within {within_s:g} s")
    except ImportError as error:
        return CloudAccess(name, False, f"{error.name} is not installed: add the extra cloudcmp[{name}]")
    except (CloudcmpError, OSError) as fault:
        return CloudAccess(name, False, brief(fault))
    bad = next((one for one in findings if one.ok is False and one.what in _BLOCKING), None)
    if bad is not None:
        return CloudAccess(name, False, f"{bad.text}; {bad.next}" if bad.next else bad.text)
    text = next((one.text for one in findings if one.what in {"credentials", "account"}), "it answers")
    return CloudAccess(name, True, text)


def start(
    answers: Answers, path: Path, seen: Sequence[CloudAccess], say: Callable[[str], None] = lambda _: None
) -> StarterStudy:
    """Make the largest study that the answers and the budget allow, and write it to a new file.

    Raises UserMistake if the file exists, and RefusedAnswer if no offering has about the size, or the budget is too
    small for any study.
    """
    check_new_file(path)
    usable = [one.provider for one in seen if one.usable]
    clouds: list[str] = []
    left_out: list[str] = []
    far: list[Offering] = []
    measured = starter.measured(answers.matters)
    least = Form(starter.LEAST_LAUNCHES, 1, measured[:1])
    for name in usable:
        say(f"reading the offerings of {name} in {starter.region_of(answers.users, name)}")
        try:
            sold = _planned(answers, [name], least, path).candidates[0].offering
        except CloudcmpError as fault:
            left_out.append(f"{name} is left out: {brief(fault)}")
            continue
        if _is_far(answers, sold):
            far.append(sold)
            left_out.append(f"{name} is left out: its nearest offering there is {sold.name}, {size_words(sold)}")
        else:
            clouds.append(name)
    if not clouds:
        _check_size(answers, far or [one.offering for one in _planned(answers, (), least, path).candidates])
    plans: dict[Form, Plan] = {}  # planning queries each cloud, so each form is planned once

    def worst(form: Form) -> Money | None:
        plans[form] = _planned(answers, clouds, form, path)
        return plans[form].quote.worst_cost

    form, money = starter.fitting(measured, worst, answers.budget)
    _check_budget(answers.budget, money)
    text, plan = starter.starter_text(answers, clouds, form), plans[form]
    cheapest, unlisted = cheapest_by_price_list(answers)
    write_new(path, text)
    schema, schema_fault = _write_schema(path)
    return StarterStudy(
        path, text, plan, answers, form, tuple(seen), tuple(clouds), cheapest, tuple(unlisted), tuple(left_out), schema,
        schema_fault,
    )  # fmt: skip


def check_new_file(path: Path) -> None:
    """Raise UserMistake if a file exists, or its name is not that of a study."""
    if path.suffix not in {".yaml", ".yml"} or len(path.stem) > _ROOM_OF_NAME:
        raise UserMistake.at(str(path), "is not a valid name of a study file", "write e.g. --out web.yaml")
    if os.path.lexists(path):
        raise UserMistake.at(str(path), "already exists and is not overwritten", "name another file with --out")
    folder = path.absolute().parent
    if not (folder.is_dir() or (folder.parent.is_dir() and not os.path.lexists(folder))):
        raise UserMistake.at(str(path.parent), "no such folder", "make it, or name another file with --out")


def _is_far(answers: Answers, sold: Offering) -> bool:
    """True if an offering has more than four times or less than a quarter of the requested size."""
    pairs = ((answers.vcpus, sold.vcpus), (answers.memory_gib, sold.memory_gib))
    return any(had is None or not 1 / _FARTHEST <= had / wanted <= _FARTHEST for wanted, had in pairs)


def _check_size(answers: Answers, sold: Sequence[Offering]) -> None:
    """Raise RefusedAnswer if no offering has about the requested size."""
    if not all(_is_far(answers, one) for one in sold):
        return
    nearest = nearest_offering(Match(answers.vcpus, answers.memory_gib), sold) or sold[0]
    where = f"{nearest.provider}/{nearest.region}/{nearest.name}"
    what = f"no size near {answers.vcpus}/{answers.memory_gib} is sold"
    # A part of a processor cannot be asked for.
    instead = f"{max(1, round(nearest.vcpus or 1))}/{max(1, round(nearest.memory_gib or 1))}"
    raise RefusedAnswer.at("--size", what, f"the nearest is {where}, {size_words(nearest)}").propose(instead)


def _check_budget(budget: Money, worst: Money | None) -> None:
    """Raise RefusedAnswer for another currency than the prices', or with the least budget that any study needs."""
    if worst is not None and worst.currency != budget.currency:
        what = f"the budget is in {budget.currency} and the prices of these machines are in {worst.currency}"
        next_ = f"exchange rates are not known here: write the budget in {worst.currency}"
        raise RefusedAnswer.at("--budget", what, next_).propose(f"{budget.amount} {worst.currency}")
    if worst is None or worst.amount <= budget.amount:
        return
    cents = worst.amount.quantize(Decimal("0.01"), rounding=ROUND_CEILING)
    what = f"{budget.amount} {budget.currency} is too little for the smallest study that gives a verdict"
    next_ = f"it needs at least {cents} {worst.currency}; or use smaller machines"
    raise RefusedAnswer.at("--budget", what, next_).propose(f"{cents} {worst.currency}")


def _planned(answers: Answers, clouds: Sequence[str], form: Form, path: Path) -> Plan:
    return plan_text(starter.starter_text(answers, clouds, form), path.name)


def write_new(path: Path, text: str) -> None:
    """Write a new file, whole or not at all; raises UserMistake if it exists."""
    part = f".{path.name}.{os.getpid()}.part"
    path.parent.mkdir(exist_ok=True)
    with OwnedPath(path.parent).folder() as folder:
        try:
            with new_file(folder, part, FOR_ALL) as file:
                file.write(text.encode())
            os.link(part, path.name, src_dir_fd=folder, dst_dir_fd=folder)  # fails if the file exists by now
        except FileExistsError:
            raise UserMistake.at(str(path), "already exists and is not overwritten", "name another file") from None
        finally:
            with suppress(FileNotFoundError):
                os.unlink(part, dir_fd=folder)


def _write_schema(study: Path) -> tuple[Path | None, str]:
    """Write the schema that the first line of a study names; returns its file, or why there is none.

    The study works without it: only editors read it.
    """
    path = study.with_name(starter.SCHEMA_FILE)
    try:
        write_schema(path)
    except CloudcmpError as fault:
        return None, brief(fault)
    except OSError as error:
        return None, f"{path}: {error.strerror}"
    return path, ""


def cheapest_by_price_list(answers: Answers) -> tuple[tuple[Offering, ...], list[tuple[str, str]]]:
    """The cheapest offerings of the requested size near the users by the price book, and the clouds without any.

    They have exactly the vCPUs, and between once and twice the memory.
    """
    found: list[Offering] = []
    unlisted = []
    for name in starter.CLOUDS:
        region = starter.region_of(answers.users, name)
        fits = [one for one in book_offerings(name, region) if _fits(answers, one)]
        fits.sort(key=lambda one: (one.price.amount_per_hour if one.price else 0, one.name))
        found += fits[:_CHEAPEST]
        if not fits:
            unlisted.append((name, region))
    return tuple(sorted(found, key=lambda one: one.price.amount_per_hour if one.price else 0)), unlisted


def _fits(answers: Answers, sold: Offering) -> bool:
    if sold.price is None or sold.vcpus != answers.vcpus or sold.memory_gib is None:
        return False
    return answers.memory_gib <= sold.memory_gib <= answers.memory_gib * _MOST_MEMORY


def missing_price_lists(
    answers: Answers, seen: Sequence[CloudAccess], fetch_now: bool | None
) -> tuple[tuple[str, str], ...]:
    """Clouds whose price list should be fetched, with the region near the users.

    Of the usable clouds: those without a price of the size in the price book, or with `fetch_now` all of them. If no
    cloud is usable: all clouds with `fetch_now`, else none.
    """
    if fetch_now is False:
        return ()
    usable = [one.provider for one in seen if one.usable]
    if fetch_now:
        return tuple((name, starter.region_of(answers.users, name)) for name in usable or starter.CLOUDS)
    return tuple(pair for pair in cheapest_by_price_list(answers)[1] if pair[0] in usable) if usable else ()


def fetch_price_lists(
    places: Sequence[tuple[str, str]], say: Callable[[str], None], within_s: float = FETCH_DEADLINE_S
) -> Iterator[FetchedPrices]:
    """Fetch price lists of clouds in their regions, one after the other; a failure is a result, none is raised."""
    for name, region in places:
        say(f"fetching the price list of {name} in {region}, for at most {format_seconds(within_s)}")
        tell = _until(DownloadProgress(say, time.monotonic).update, within_s)
        web = Web(idle_s=min(_IDLE_S, within_s), deadline_s=within_s, report=tell)
        try:
            prices = sum(one.rows for one in fetch([name], [region], progress=say, web=web))
            yield FetchedPrices(name, region, prices)
        except (CloudcmpError, OSError, ImportError) as fault:
            yield FetchedPrices(name, region, 0, brief(fault))


def _until(tell: ReportProgress, within_s: float) -> ReportProgress:
    """A `tell` that raises ProviderFault once the lists together took too long."""
    ends = time.monotonic() + within_s

    def checked(what: str, done: int, whole: int | None) -> None:
        if time.monotonic() > ends:
            raise ProviderFault.at(what, f"the lists took longer than {within_s:g} s", "try again with cloudcmp fetch")
        tell(what, done, whole)

    return checked
