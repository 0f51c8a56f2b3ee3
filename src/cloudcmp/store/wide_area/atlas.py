"""Results of RIPE Atlas measurements: pings, traceroutes, DNS, TLS certificates and HTTP."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cloudcmp.errors import UserMistake
from cloudcmp.model.wide_area import Phase, VantagePoint, WideArea
from cloudcmp.store.wide_area import cells
from cloudcmp.store.wide_area.atlas_fields import (
    Contact,
    dns_answers,
    http_contacts,
    kind_of,
    ping_contact,
    probe_of,
    tls_contact,
    traceroute_contact,
)
from cloudcmp.store.wide_area.cells import BadCell
from cloudcmp.store.wide_area.documents import results
from cloudcmp.store.wide_area.gather import Faults, Gatherer
from cloudcmp.store.wide_area.targets import Targets

_SHOWN = 3


def read_atlas(path: Path, targets: Targets) -> WideArea:
    """Read results of any firmware: an array, one result a line, or lists by probe; packed with gzip or not.

    Each probe is a vantage point, named by its id. `targets` says which site a measured name or address belongs to.
    Round trips are those of pings, and of the last hop of traceroutes that reached their target. An address that a
    probe got for a name of `targets.services` is an answer of that name, and pings to it are times of that address.
    TLS is the time from the connection to the certificates: less than a whole handshake. Results of other kinds, and of
    targets that belong to no known site, are left out and counted in the notes.
    Source: RIPE NCC, "RIPE Atlas measurement result format", versions 1 to 5000.

    Raises UserMistake, with a line for each of the first 20 faults, and if no result has a known site.
    """
    reader = _Reader(targets)
    for place, one in results(path):
        reader.add(place, one)
    return reader.area(path)


class _Reader:
    """Adds results to a gatherer; pings to addresses wait until all answers of names are known."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._gathered, self._faults = Gatherer(), Faults()
        self._waiting: list[tuple[str, Contact, bool]] = []
        self._given: dict[str, dict[tuple[str, str], None]] = {}
        self._left: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._found = 0
        self._count = 0

    def add(self, place: str, one: Any) -> None:
        """Add one result."""
        self._count += 1
        try:
            if not isinstance(one, dict):
                raise BadCell("no result: it is no object", "name the JSON of RIPE Atlas's results")
            probe = probe_of(one)
            kind = kind_of(one)
            adds: Mapping[str, Callable[[str, dict[str, Any]], None]] = {
                "ping": self._ping, "traceroute": self._traceroute, "dns": self._dns, "sslcert": self._tls,
                "http": self._http,
            }  # fmt: skip
            if kind in adds:
                adds[kind](probe, one)
            else:
                self._left[f"results of type {kind}"] += 1
        except BadCell as bad:
            self._faults.add(place, bad.what, bad.next)

    def area(self, path: Path) -> WideArea:
        """Return what was gathered; raises UserMistake for faults, and if nothing was."""
        self._faults.check()
        for probe, contact, known in self._waiting:
            self._add_address(probe, contact, known=known)
        if not self._found:
            if not self._unknown:
                raise UserMistake.at(str(path), f"no time in {self._count} results", "name results with round trips")
            raise UserMistake.at(
                str(path), f"no site is known of {self._names()}", "name their sites with --targets FILE"
            )
        notes = [f"{count} {what} are left out" for what, count in self._left.items()]
        if self._unknown:
            total = self._unknown.total()
            notes.append(f"{total} results of {self._names()} are left out: no site is known; name it in --targets")
        self._gathered.notes += [f"{path.name}: {one}" for one in notes]
        return self._gathered.area(path.name)

    def _names(self) -> str:
        names = [cells.name(name) for name, _ in self._unknown.most_common(_SHOWN)]
        more = len(self._unknown) - len(names)
        return ", ".join(names) + (f" and {more} other targets" if more else "")

    def _contact(self, probe: str, phase: Phase, contact: Contact, size: int | None = None) -> bool:
        """Add a contact with a target to its site's times; false if no site is known."""
        site = self._targets.site_of(contact.name, contact.address)
        if site is None:
            return False
        self._found += 1
        self._gathered.vantage(VantagePoint(probe))
        kept = self._gathered.site(site)
        self._gathered.add(probe, (kept.provider, kept.region), phase, contact.values_s, started=contact.started,
                           n=contact.n, size_bytes=size)  # fmt: skip
        return True

    def _ping(self, probe: str, one: dict[str, Any]) -> None:
        self._round_trip(probe, ping_contact(one))

    def _traceroute(self, probe: str, one: dict[str, Any]) -> None:
        contact = traceroute_contact(one)
        if contact is None:
            self._left["traceroutes as text, of firmware 1,"] += 1
            return
        self._round_trip(probe, contact)

    def _round_trip(self, probe: str, contact: Contact) -> None:
        service = self._targets.provider_of(contact.name)
        if service is not None and contact.address:
            self._answer(probe, service, contact.name, contact.address)
        known = self._contact(probe, Phase.RTT, contact) or service is not None
        if contact.address and self._targets.services:
            self._waiting.append((probe, contact, known))
        elif not known:
            self._unknown[contact.name or contact.address] += 1

    def _add_address(self, probe: str, contact: Contact, *, known: bool) -> None:
        """Add the times to an address, if it was given for a name."""
        services = self._given.get(contact.address)
        if services is None:
            if not known:
                self._unknown[contact.name or contact.address] += 1
            return
        self._found += 1
        self._gathered.vantage(VantagePoint(probe))
        for provider, name in services:
            self._gathered.add_address(probe, provider, name, contact.address, contact.values_s, contact.started)

    def _answer(self, probe: str, provider: str, name: str, address: str) -> None:
        self._gathered.vantage(VantagePoint(probe))
        self._gathered.answer(probe, provider, name.lower(), address)
        self._given.setdefault(address, {})[provider, name.lower()] = None

    def _dns(self, probe: str, one: dict[str, Any]) -> None:
        for contact, addresses in dns_answers(one):
            service = self._targets.provider_of(contact.name)
            if not contact.name:
                self._left["DNS results without a readable question"] += 1
            elif service is not None:
                self._found += 1
                for address in addresses:
                    self._answer(probe, service, contact.name, address)
            elif not self._contact(probe, Phase.DNS, contact):
                self._unknown[contact.name] += 1

    def _tls(self, probe: str, one: dict[str, Any]) -> None:
        connect, tls = tls_contact(one)
        if not self._contact(probe, Phase.CONNECT, connect):
            self._unknown[connect.name or connect.address] += 1
            return
        self._contact(probe, Phase.TLS, tls)

    def _http(self, probe: str, one: dict[str, Any]) -> None:
        for contacts, size in http_contacts(one):
            for phase, contact in contacts.items():
                sized = size if phase in {Phase.FIRST_BYTE, Phase.TRANSFER, Phase.PAGE} else None
                if not self._contact(probe, phase, contact, sized):
                    self._unknown[contact.name or contact.address] += 1
                    break
