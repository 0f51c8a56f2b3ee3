"""Checks what the parts of a scenario file say of each other."""

from collections.abc import Iterable, Sequence
from math import comb, isnan

from cloudcmp.catalog import nearest
from cloudcmp.model.scenario import DAY_S, Arrivals, Balancing, Broker, Discipline, Matrix, Mode, ServiceTimes
from cloudcmp.study.faults import Faults, shown
from cloudcmp.study.faults import Path as Way
from cloudcmp.study.scenario_shape import ScenarioShape
from cloudcmp.study.tree import Tree

MOST_SETS = 500
MOST_DAYS = 7
MOST_DIRECT, MOST_BY_EVENTS = 10**8, 5 * 10**6
"""The most tasks of a run: drawn together, and one by one where decisions depend on earlier ones."""
OVERALL = "overall"
_NO_MIDNIGHT = ("CloudAnalyst has no peak over midnight", "leave out compat, or end the peak at 24:00")


def check(shape: ScenarioShape, latency: Matrix, bandwidth: Matrix, tree: Tree, faults: Faults) -> None:
    """Add a fault for each part that contradicts another."""
    checks = _Checks(shape, tree, faults)
    checks.names("user_bases", [one.name for one in shape.user_bases], "a user base")
    checks.names("data_centres", [one.name for one in shape.data_centres], "a data centre")
    checks.places(latency, bandwidth)
    checks.hours()
    checks.deployments()
    checks.search()
    checks.variants(latency)
    checks.published()
    checks.currencies()
    checks.compatible()
    if not faults.at((1, 1)):
        checks.size()


class _Checks:
    """The checks of one file."""

    def __init__(self, shape: ScenarioShape, tree: Tree, faults: Faults) -> None:
        self._shape, self._tree, self._faults = shape, tree, faults

    def _add(self, way: Way, what: str, next: str) -> None:
        self._faults.add(self._tree.place(way), what, next)

    def _unknown(self, way: Way, word: str, known: Sequence[str], what: str) -> None:
        close = nearest(word, known)
        advice = f"nearest: {close}" if close else f"write one of {', '.join(known[:8])}"
        self._add(way, f"{shown(word)} is no {what}", advice)

    def names(self, key: str, names: list[str], what: str) -> None:
        """There is one, and each has a name of its own."""
        if not names:
            self._add((key,), f"there is not {what}", f"write at least one under {key}")
        for at, name in enumerate(names):
            if name in names[:at]:
                self._add((key, at, "name"), f"{shown(name)} is the name of another one too", "give each its own name")

    def places(self, latency: Matrix, bandwidth: Matrix) -> None:
        """Bases and data centres are at places of the matrices."""
        for key, regions, known, others in (
            ("user_bases", [one.region for one in self._shape.user_bases], latency.rows, bandwidth.rows),
            ("data_centres", [one.region for one in self._shape.data_centres], latency.columns, bandwidth.columns),
        ):
            for at, region in enumerate(regions):
                if region not in known:
                    self._unknown((key, at, "region"), region, known, "place of the latencies")
                elif region not in others:
                    self._unknown((key, at, "region"), region, others, "place of the bandwidths")
        centres = [one.region for one in self._shape.data_centres if one.region in latency.columns]
        for at, base in enumerate(self._shape.user_bases):
            lacking = [one for one in centres if base.region in latency.rows and isnan(latency.at(base.region, one))]
            if lacking:
                what = f"no latency from {base.region} to {', '.join(lacking)} is known that light in fibre could do"
                self._add(("user_bases", at, "region"), what, "leave one of the two out, or measure it")

    def hours(self) -> None:
        """Peak hours are given where they matter, and the time is not too long."""
        for at, one in enumerate(self._shape.user_bases):
            peak, off_peak = one.users
            if one.peak is None and peak != off_peak:
                self._add(("user_bases", at, "users"), "the peak has other users, and its hours are not given",
                          "write e.g. peak: 14:00-16:00, in UTC")  # fmt: skip
        if not 60 <= self._shape.duration <= MOST_DAYS * DAY_S:
            self._add(("duration",), f"duration: not between a minute and {MOST_DAYS} days", "write e.g. 24 h")

    def deployments(self) -> None:
        """Deployments name data centres of the file."""
        known = [one.name for one in self._shape.data_centres]
        if self._shape.deployments == {}:
            self._add(("deployments",), "there is no deployment", "write e.g. {one: {US: 16}}, or leave it out")
        for name, machines in (self._shape.deployments or {}).items():
            if not machines:
                self._add(("deployments", name), f"{shown(name)} has no data centre", "write e.g. {US: 16}")
            for centre in machines:
                if centre not in known:
                    way = ("deployments", name, centre)
                    self._unknown(way, centre, known, "data centre of this file")

    def search(self) -> None:
        """A search has one aim, and not too many sets."""
        wanted, centres = self._shape.search, len(self._shape.data_centres)
        if wanted is None:
            return
        if (wanted.target is None) == (wanted.budget is None):
            self._add(("search",), "a search has either a target or a budget", "write e.g. target: 300 ms")
        if wanted.share is not None and wanted.target is None:
            self._add(("search", "share"), "a share of requests needs the time within which", "write target: 300 ms")
        if wanted.choose > centres:
            what = f"{wanted.choose} of {centres} data centres cannot be chosen"
            self._add(("search", "choose"), what, f"write at most {centres}")
        elif (sets := sum(comb(centres, k) for k in range(1, wanted.choose + 1))) > MOST_SETS:
            what = f"{sets} sets of data centres; at most {MOST_SETS} are simulated"
            self._add(("search", "choose"), what, "choose fewer, or list fewer data centres")
        if self._shape.runs < 2:
            self._add(("runs",), "a search needs the interval of the simulation, which one run lacks", "write runs: 5")
        for at, one in enumerate(self._shape.data_centres):
            if one.price is None or one.transfer is None:
                lacking = "price" if one.price is None else "transfer"
                what = f"a search needs the cost of {shown(one.name)}, whose {lacking} is not known"
                self._add(("data_centres", at), what, "write price: 0.10 USD/h and transfer: 0.10 USD/GB")

    def variants(self, latency: Matrix) -> None:
        """Variants change what is there."""
        bases = [one.name for one in self._shape.user_bases]
        for name, one in self._shape.variants.items():
            slips = self._shape.compat == "cloudanalyst" and one.compat is None
            for base, hours in one.peak.items():
                if base not in bases:
                    self._unknown(("variants", name, "peak", base), base, bases, "user base of this file")
                elif slips and hours[0] > hours[1]:
                    self._add(("variants", name, "peak", base), *_NO_MIDNIGHT)
            known = list(self._shape.deployments or {"all": {}})
            for at, of in enumerate(one.deployments):
                if of not in known:
                    self._unknown(("variants", name, "deployments", at), of, known, "deployment of this file")
            self._pairs(("variants", name, "latency"), one.latency or (), latency)
        change = self._shape.latency.get("change") if isinstance(self._shape.latency, dict) else None
        if change:
            self._pairs(("latency", "change"), [(tuple(str(key).split(" to ")), 0.0) for key in change], latency)

    def _pairs(self, way: Way, pairs: Iterable[tuple[tuple[str, ...], float]], latency: Matrix) -> None:
        known = tuple(dict.fromkeys((*latency.rows, *latency.columns)))
        for places, _ in pairs:
            for place in places:
                if place not in known:
                    self._unknown((*way, " to ".join(places)), place, known, "place of the latencies")

    def published(self) -> None:
        """Rows of a published table are set beside bases."""
        bases = [*(one.name for one in self._shape.user_bases), OVERALL]
        for row, what in (self._shape.published.rows if self._shape.published else {}).items():
            if what not in bases:
                self._unknown(("published", "rows", row), what, bases, "user base of this file")

    def currencies(self) -> None:
        """All prices are in one currency."""
        wanted = self._shape.search.budget if self._shape.search else None
        known = wanted.currency if wanted else ""
        for at, one in enumerate(self._shape.data_centres):
            for key in ("price", "transfer"):
                money = getattr(one, key)
                known = known or (money.currency if money else "")
                if money is not None and money.currency != known:
                    what = f"{key}: {money.currency}, but others are in {known}"
                    self._add(("data_centres", at, key), what, "write all prices in one currency")

    def compatible(self) -> None:
        """What CloudAnalyst does not have is not asked of its slips."""
        shape = self._shape
        if shape.mode is Mode.REQUESTS and shape.grouping is not None:
            self._add(("grouping",), "grouping is of messages, and mode is requests", "leave one of the two out")
        if shape.compat != "cloudanalyst":
            return
        unlike = {"mode": shape.mode is Mode.REQUESTS, "arrivals": shape.arrivals is Arrivals.SPREAD,
                  "serving": shape.serving is Discipline.IN_ORDER,
                  "service_times": shape.service_times is ServiceTimes.EXPONENTIAL}  # fmt: skip
        for key, differs in unlike.items():
            if differs:
                self._add((key,), f"CloudAnalyst has no {key.replace('_', ' ')} such as this", "leave out compat")
        for at, one in enumerate(shape.user_bases):
            if one.peak and one.peak[0] > one.peak[1]:
                self._add(("user_bases", at, "peak"), *_NO_MIDNIGHT)

    def size(self) -> None:
        """A run is not too large, and not empty."""
        shape = self._shape
        online = sum(one.requests_per_hour * max(one.users) for one in shape.user_bases)
        if not online:
            self._add(("user_bases",), "no base has any users", "write e.g. users: 1000")
        group = shape.grouping.requests if shape.grouping else 10 if shape.compat == "cloudanalyst" else 1
        tasks = online * shape.duration / 3600 / group
        events = shape.broker is not Broker.CLOSEST or shape.balancing is Balancing.EQUALLY_SPREAD
        most = MOST_BY_EVENTS if events else MOST_DIRECT
        if tasks > most:
            what = f"up to {tasks:,.0f} tasks in a run; at most {most:,.0f} are simulated"
            self._add((), what, "write mode: messages with a larger grouping, or a shorter duration")
