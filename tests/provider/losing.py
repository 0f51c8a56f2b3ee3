"""Launches whose answers are lost, and their end from another process: what is wrong with them, a line each."""

import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from tests.emulated.asks import ALLOW, tags
from tests.emulated.cloud import Thing
from tests.emulated.standing import Standing
from tests.provision.conftest import MemoryJournal

from cloudcmp.errors import ProviderFault
from cloudcmp.model.lease import FIREWALL
from cloudcmp.model.plan import Candidate, Launch
from cloudcmp.model.protocol import Provider
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Ledger, Part, Patience, release_all
from cloudcmp.provision.ledger import in_order_of_ending
from cloudcmp.provision.lifecycle import acquire, release
from cloudcmp.provision.pace import Pace, Tempo

TEMPO = Tempo(interval_s=0.02, first_s=0.1)
PATIENCE = Patience(grace_s=0.4, poll_s=0.05, give_up_s=10.0, listings=3, settle_s=0.5)


def _ledger(journal: MemoryJournal, study: str) -> Ledger:
    time = WallTime()
    return Ledger(journal, study, time, pace=Pace(time, random.random, TEMPO))


class Losing:
    """A cloud in which somebody else's things stand, by their `kinds`, and a driver made anew for each process.

    `strays` are what the provider itself makes beside a lease, such as addresses: they are ended with the study's end.
    """

    def __init__(
        self,
        cloud: Standing[Any],
        wanted: Candidate,
        driver: Callable[[], Provider],
        kinds: Iterable[str] = ("instance", "firewall", "volume"),
        *,
        strays: bool = False,
    ) -> None:
        self.cloud, self.wanted, self.driver, self.strays = cloud, wanted, driver, strays
        theirs = {**dict(tags("study-other")), "cloudcmp:schema": "0"}
        for kind in kinds:
            cloud.plant(kind, wanted.offering.region, f"theirs-{kind}", theirs)
        self.foreign = {thing.id for thing in cloud.alive()}

    def made(self) -> list[Thing]:
        """What exists beside what is theirs."""
        return [thing for thing in self.cloud.alive() if thing.id not in self.foreign]

    async def history(
        self,
        seed: int,
        tokens: Callable[[str], str],
        then: Callable[[Provider, str], Awaitable[None]] | None = None,
    ) -> list[str]:
        """One launch with its firewall, then its end; `tokens` tells a machine's, `then` is what a launch does next."""
        study, wrong = f"study-{seed}", []
        journal, driver = MemoryJournal(), self.driver()
        ledger, launch = _ledger(journal, study), Launch(0, 0, 0, None, 0.0, seed)
        try:
            part = Part(FIREWALL, options=(ALLOW,))
            group = await acquire(ledger, driver, self.wanted, launch, 600.0, part=part, patience=PATIENCE)
            part = Part(options=(("firewall", str(group.cloud_id)),))
            lease = await acquire(ledger, driver, self.wanted, launch, 600.0, part=part, patience=PATIENCE)
            if lease.cloud_id not in {thing.id for thing in self.cloud.alive()}:
                wrong.append(f"{seed}: {lease.cloud_id} is live in the ledger and not in the cloud")
            if then is not None:
                await then(driver, str(lease.cloud_id))
        except ProviderFault:
            pass
        made = self.made()
        for kind in ("instance", "address"):
            wrong += [f"{seed}: two of {kind}"] if [one.kind for one in made].count(kind) > 1 else []
        known = {row.token for row in journal.rows}
        machines = [one.id for one in made if one.kind == "instance"]
        wrong += [f"{seed}: {id} is not written down" for id in machines if tokens(id) not in known]
        again, other = _ledger(journal, study), self.driver()
        for lease in in_order_of_ending(again.open_leases()):
            done = await release(again, other, lease, PATIENCE)
            wrong += [] if done.evidence else [f"{seed}: {lease.name} is not seen gone: {done.why}"]
        if self.strays:
            await release_all(again, {self.wanted.runner: other})
        return wrong + [f"{seed}: {thing.kind} {thing.id} is left" for thing in self.made()]

    def gone(self) -> list[str]:
        """What was theirs and is not there any more."""
        return [f"{id} is gone" for id in self.foreign - {thing.id for thing in self.cloud.alive()}]
