"""Checks that a plan that can be quoted can also be run."""

from collections.abc import Collection, Sequence

from cloudcmp.catalog import PROBES
from cloudcmp.errors import Fault, UserMistake
from cloudcmp.model.cast import KEY_APIS, Role, ServiceKind
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate, Plan, PlannedTrial
from cloudcmp.model.price_lists import FETCHED, fetch_command
from cloudcmp.plan.client_checks import client_faults
from cloudcmp.plan.path_checks import path_faults
from cloudcmp.plan.resize_target import NEXT, resize_price, unknown_price
from cloudcmp.plan.service_use import is_billed, lacks_node_price
from cloudcmp.plan.traffic import duty_excess, machine_limit, machines
from cloudcmp.plan.vantages import vantage_faults

_DEFAULTS = frozenset({("credits", "standard"), ("market", "on-demand"), ("os", "linux"), ("tenancy", "shared")})


def check_runnable(plan: Plan, providers: Collection[str], billed: Collection[str] = ()) -> None:
    """Raise UserMistake if a plan cannot be run; `providers` have a driver, the use of `billed` ones costs money.

    There is one line for each provider without a driver, each provider's client that cannot be measured, each option
    that is not available, and a worst case that is unknown or above the budget.
    """
    faults = [
        *_drivers(plan, providers),
        *_services(plan),
        *client_faults(plan),
        *vantage_faults(plan),
        *_money(plan, billed),
        *_traffic(plan),
    ]
    faults += [*_machines(plan), *_options(plan), *_next(plan), *path_faults(plan), *_far_traffic(plan, billed)]
    if faults:
        raise UserMistake(*faults)


def _drivers(plan: Plan, providers: Collection[str]) -> list[Fault]:
    runners = dict.fromkeys(candidate.runner for candidate in plan.leased if not candidate.simulated)
    what = "there is no driver for this provider yet"
    return [Fault(name, what, "use --on simulated or --on local") for name in runners if name not in providers]


def _services(plan: Plan) -> list[Fault]:
    """Faults for services in which no driver can create a data set, and for those that one machine cannot serve."""
    real = [(one, one.service) for one in plan.candidates if one.service and not one.simulated]
    what = "no driver makes data sets in this service yet"
    faults = [
        Fault(one.id, what, "use --on simulated")
        for one, it in real
        if not one.store and not it.serve and it.kind is not ServiceKind.HTTP
    ]
    by_launch = {launch.index: plan.candidates[launch.candidate] for launch in plan.launches}
    asking = {by_launch[one.launch].index: one.probe for one in plan.trials if _asks_a_service(one)}
    alone = [one for one in plan.candidates if one.index in asking and not one.service and not one.simulated]
    next_ = "write service: blob and from: in a candidate, or leave the probe out"
    faults += [Fault(one.id, f"it is a machine, and {asking[one.index]} measures a service", next_) for one in alone]
    key_only = "opens with its account's key only, which never goes to another machine"
    faults += [
        Fault(one.id, f"{it.api} {key_only}", "write from: local")
        for one, it in real if it.api in KEY_APIS and one.runner != "local"
    ]  # fmt: skip
    served = [it.endpoint for _, it in real if it.serve]
    twice = "two candidates serve at the same endpoint, and both may run at once"
    return faults + [
        Fault(one.id, twice, "give each its own port") for one, it in real if it.serve and served.count(it.endpoint) > 1
    ]


def _asks_a_service(trial: PlannedTrial) -> bool:
    """True if the agent measures a storage service in a trial."""
    return Role.SERVICE in PROBES[trial.probe].roles


_OPENSTACKS = ("openstack", "rackspace")
_HAS = {**dict.fromkeys(("local", "netns", "ssh"), frozenset[str]()), "qemu": frozenset({"image", "volume"})}
"""The options besides the type that providers with a limited choice have."""
_NETWORKED = {"address", "network"}
"""Options that only OpenStack clouds have."""


def _options(plan: Plan) -> list[Fault]:
    """Faults for options that a provider does not have: ignoring one would measure another candidate."""
    faults = [
        Fault(one.id, f"{one.runner} has no {name}", "leave it out")
        for one in plan.candidates
        for name in sorted(_NETWORKED & dict(one.options).keys())
        if one.runner == one.offering.provider and one.runner not in {*_OPENSTACKS, *_HAS}
    ]
    for one in plan.candidates:
        has = _HAS.get(one.runner)
        if has is None or one.runner != one.offering.provider:
            continue
        requested = [name for name, value in one.options if (name, value) not in _DEFAULTS]
        requested += ["volume"] if one.volume else []
        lacks = [name for name in requested if name not in has]
        faults += [Fault(one.id, f"{one.runner} has no {name}", "leave it out") for name in lacks]
    return faults + [
        Fault(one.id, "its type has no CPU credits", "leave credits out")
        for one in plan.candidates
        if one.runner == "aws" and "credits" in dict(one.options) and _steady(one.offering)
    ]


def _steady(sold: Offering) -> bool:
    """True if a type is known to have no CPU credits."""
    return bool(sold.attributes) and ("burstable", "yes") not in sold.attributes


def _traffic(plan: Plan) -> list[Fault]:
    """Faults for bulk transfers between machines that exceed the allowed share of a launch's time."""
    next_ = "write caps: {duty: 100 %} where that is allowed, or add other probes"
    return [Fault("caps", line, next_) for line in duty_excess(plan)]


def _machines(plan: Plan) -> list[Fault]:
    """Faults for launches that alone need more machines than the study may have at once."""
    most, work = machine_limit(plan), dict[int, list[PlannedTrial]]()
    by_launch = {launch.index: launch.candidate for launch in plan.launches}
    for trial in plan.trials:
        work.setdefault(by_launch[trial.launch], []).append(trial)
    needs = ((plan.candidates[index], machines(plan.candidates[index], some)) for index, some in work.items())
    next_ = "raise caps: {machines: ...}, or launch fewer"
    return [
        Fault("caps", f"{one.id}: each launch takes {needed} machines, and {most} are the most at once", next_)
        for one, needed in needs
        if needed > most
    ]


def _targets(plan: Plan, candidates: Collection[Candidate]) -> list[tuple[Candidate, str]]:
    """The candidates whose machines a trial resizes, each with the name of the target type."""
    named = {launch.index: launch.candidate for launch in plan.launches}
    targets = {(named[one.launch], dict(one.params)["to"]): None for one in plan.trials if one.probe == "resize"}
    return [(one, to) for one in candidates for index, to in targets if index == one.index]


def _unpriced_targets(plan: Plan, spenders: Collection[Candidate]) -> list[Fault]:
    """Faults for resize targets without a price in the study or in any list."""
    faults = []
    for one, to in _targets(plan, spenders):
        price, own = resize_price(one, to, plan.candidates), one.offering.price
        if price is None or (own and price.currency != own.currency):
            faults.append(Fault("price", *unknown_price(one, to)))
    return faults


def _next(plan: Plan) -> list[Fault]:
    """Faults for targets `next` of real machines whose larger type is unknown."""
    real = [one for one in plan.candidates if not one.simulated]
    unknown = [one for one, to in _targets(plan, real) if to == NEXT]
    what, next_ = "no list of types is at hand, so that to: next is nobody", "name the type: params: {to: ...}"
    return [Fault(one.id, what, next_) for one in unknown]


def _money(plan: Plan, billed: Collection[str]) -> list[Fault]:
    services = [one for one in plan.candidates if is_billed(one) and (not one.store or one.store in billed)]
    spenders = [one for one in plan.candidates if one.runner in billed or one in services]
    worst, budget = plan.quote.worst_cost, plan.budget
    if not spenders:
        return []
    if worst is None:
        return _unknown_money(plan, spenders, services)
    if budget is None or worst.currency != budget.currency or worst.amount > budget.amount:
        what = f"the worst case of {worst.amount} {worst.currency} is not within it"
        return [Fault("budget", what, "raise the budget, or plan fewer launches")]
    return []


def _unknown_money(plan: Plan, spenders: Sequence[Candidate], services: Sequence[Candidate]) -> list[Fault]:
    """Faults for what keeps the worst case unknown."""
    if nodes := [one for one in services if lacks_node_price(one)]:
        return [_unpriced("nodes", nodes, "write prices: {nodes: 0.65 USD/h}")]
    if requests := [one for one in services if not one.unit_prices]:
        return [_unpriced("requests", requests, "write prices: {requests: 0.005 USD/1000, moved: 0.09 USD/GB}")]
    if elsewhere := [one for one in spenders if one.offering.price and one.far and one.far.offering.price is None]:
        region = elsewhere[0].ends[-1].offering.region
        what = f"no price is known for {elsewhere[0].id} in {region}"
        return [Fault("price", what, f"write far: {{region: {region}, price: 0.10 USD/h}}")]
    unknown = [candidate.id for candidate in spenders if candidate.offering.price is None]
    targets = [] if unknown else _unpriced_targets(plan, spenders)
    if targets:
        return targets
    what = f"no price is known for {unknown[0]}" if unknown else "prices are in several currencies"
    return [Fault("price", what, "write price: 0.10 USD/h, in one currency")]


_LISTS_TRAFFIC = frozenset({"aws"})
"""Providers whose fetched lists have the price of traffic between regions."""


def _far_traffic(plan: Plan, billed: Collection[str]) -> list[Fault]:
    """Faults for traffic between two regions without a price: clouds bill each byte of it."""
    faults = []
    for one in plan.candidates:
        price, own = one.traffic_price, one.offering.price
        if one.runner in billed and one.far and (price is None or (own and own.currency != price.currency)):
            near, far = (end.offering.region for end in one.ends)
            next_ = f"write far: {{region: {far}, traffic: 0.02 USD/GB}}"
            if one.runner in _LISTS_TRAFFIC:
                next_ = f"cloudcmp fetch {one.runner} --region {near}, the same for {far}; or {next_}"
            faults.append(Fault(one.id, f"no price is known for traffic between {near} and {far}", next_))
    return faults


def _unpriced(what: str, services: Sequence[Candidate], written: str) -> Fault:
    """The fault for services of which something has no price; `written` is what the study may say."""
    listed = [one.service for one in services if one.service and one.service.provider in FETCHED]
    fetched = dict.fromkeys(fetch_command(one) for one in listed)
    next_ = f"{'; '.join(fetched)}; or {written}" if fetched else written
    return Fault("price", f"no price is known for the {what} of {services[0].id}", next_)
