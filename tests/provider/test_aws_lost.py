"""Leases of machines at the emulated EC2 while answers are lost: written down, found again, ended, never doubled."""

import asyncio
import http.client
import random
from urllib.parse import urlsplit

import pytest
from tests.emulated.ec2 import Faults, ec2
from tests.emulated.ec2_requests import ALLOW, REGION, STUDY, candidate, launched, provider, tags
from tests.emulated.pointed import pointed
from tests.emulated.wire import Answer, Server

from cloudcmp.errors import LostAnswer, ProviderFault, Unreached
from cloudcmp.model.lease import FIREWALL, STATE_OF, Lease, LeaseRow
from cloudcmp.model.plan import Launch
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Ledger, Part, Patience, acquire, release
from cloudcmp.provision.ledger import in_order_of_ending

_LOSES = ("lost", "reset", "5xx", "truncated", "part", "drop", "error:Unavailable", "error:RequestLimitExceeded")
PATIENCE = Patience(grace_s=0.4, poll_s=0.05, give_up_s=10.0, listings=3, settle_s=0.5)


class Journal:
    """Rows in memory, read back as leases."""

    def __init__(self):
        self.rows: list[LeaseRow] = []

    def append_lease(self, row):
        self.rows.append(row)

    def leases(self):
        last = {}
        for row in self.rows:
            before = last.get((row.slot, row.attempt))
            id = row.cloud_id or (before.cloud_id if before else None)
            what = (row.slot, row.attempt, STATE_OF[row.event], row.provider, row.region, row.kind, row.name, row.token)
            last[row.slot, row.attempt] = Lease(*what, id, None)
        return tuple(last.values())


async def history(cloud, seed):
    """One launch with its firewall, whose answers may be lost, then its end from another process; what is wrong."""
    draw, study, wrong = random.Random(seed), f"study-{seed}", []
    cloud.faults = Faults(
        seed=seed, tokens=draw.choice(["honoured", "ignored"]), read_lag_s=draw.choice([0.0, 0.0, 0.2]),
        tags=draw.choice(["kept", "kept", "stripped"]),
    )  # fmt: skip
    for action in ("RunInstances", "CreateSecurityGroup", "DescribeInstances", "TerminateInstances"):
        if draw.random() < 0.6:
            cloud.inject(action, draw.choice(_LOSES), draw.choice([1, 1, 2]))
    journal, driver = Journal(), provider(settle_s=0.5)
    ledger, launch = Ledger(journal, study, WallTime()), Launch(0, 0, 0, None, 0.0, seed)
    try:
        part = Part(FIREWALL, options=(ALLOW,))
        group = await acquire(ledger, driver, candidate(), launch, 600.0, part=part, patience=PATIENCE)
        part = Part(options=(("firewall", group.cloud_id),))
        lease = await acquire(ledger, driver, candidate(), launch, 600.0, part=part, patience=PATIENCE)
        if lease.cloud_id not in {thing.id for thing in cloud.alive()}:
            wrong.append(f"{seed}: {lease.cloud_id} is live in the ledger and not in the cloud")
    except ProviderFault:
        pass
    made = [thing for thing in cloud.alive() if thing.kind == "instance" and thing.id not in cloud.foreign]
    wrong += [f"{seed}: two machines"] if len(made) > 1 else []
    known, lives = {row.token for row in journal.rows}, cloud.state.lives.all
    wrong += [f"{seed}: {one.id} is not written down" for one in made if lives[one.id].token not in known]
    again = Ledger(journal, study, WallTime())
    for lease in in_order_of_ending(again.open_leases()):
        done = await release(again, provider(settle_s=0.5), lease, PATIENCE)
        wrong += [] if done.evidence else [f"{seed}: {lease.name} is not seen gone: {done.why}"]
    left = [thing for thing in cloud.alive() if thing.id not in cloud.foreign]
    return wrong + [f"{seed}: {thing.kind} {thing.id} is left" for thing in left]


def lost_answers(n, seed):
    """So many histories; returns what is wrong with any, foreign resources that were touched among it."""
    with pointed(ec2()) as cloud:
        theirs = {**dict(tags("study-other")), "cloudcmp:schema": "0"}
        for kind in ("instance", "firewall", "volume"):
            cloud.plant(kind, REGION, f"theirs-{kind}", theirs)
        cloud.foreign = {thing.id for thing in cloud.alive()}
        wrong = [line for number in range(n) for line in asyncio.run(history(cloud, seed + number))]
        return wrong + [f"{id} is gone" for id in cloud.foreign - {thing.id for thing in cloud.alive()}]


@pytest.mark.parametrize("seed", [1, 101])
def test_p02_lost_answers_leave_nothing_and_double_nothing(seed):
    assert lost_answers(6, seed) == []


def proxy(lost):
    """A forwarding proxy that hands on every whole request, and closes instead of answering those of an action."""

    def forward(asked):
        to = urlsplit(asked.path)
        link = http.client.HTTPConnection(to.hostname, to.port, timeout=30)
        kept = {name: value for name, value in asked.headers.items() if name.lower() != "expect"}
        link.request(asked.method, to.path, asked.body, kept)
        said = link.getresponse()
        answer = Answer(said.status, said.read(), {"Content-Type": said.getheader("Content-Type")})
        link.close()
        return Answer(how="close") if f"Action={lost}&".encode() in asked.body + b"&" else answer

    return Server(forward)


def test_p02_an_answer_that_a_proxy_loses_is_lost_and_what_was_made_is_found(cloud, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    with proxy("RunInstances") as between:
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{between.port}")
        with pytest.raises(LostAnswer, match="ProxyConnectionError"):
            asyncio.run(launched(provider()))
        (made,) = [thing.id for thing in cloud.alive() if thing.kind == "instance"]
        found = asyncio.run(provider().find(STUDY, "token-1", region=REGION))
        assert made in {one.cloud_id for one in found}
    with pytest.raises(Unreached):  # nobody listens any more
        asyncio.run(provider().find(STUDY, region=REGION))
