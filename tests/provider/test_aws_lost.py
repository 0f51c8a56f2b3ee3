"""Leases of machines at the emulated EC2 while answers are lost: written down, found again, ended, never doubled."""

import asyncio
import http.client
import random
from urllib.parse import urlsplit

import pytest
from tests.emulated.ec2 import Faults, ec2
from tests.emulated.ec2_requests import REGION, STUDY, candidate, launched, provider
from tests.emulated.pointed import pointed
from tests.emulated.wire import Answer, Server
from tests.provider.losing import Losing
from tests.slices import long, some

from cloudcmp.errors import LostAnswer, Unreached

_LOSES = ("lost", "reset", "5xx", "truncated", "part", "drop", "error:Unavailable", "error:RequestLimitExceeded")


async def history(losing, seed):
    """One launch of which answers may be lost, and its end; what is wrong."""
    draw, cloud = random.Random(seed), losing.cloud
    cloud.faults = Faults(
        seed=seed, tokens=draw.choice(["honoured", "ignored"]), read_lag_s=draw.choice([0.0, 0.0, 0.2]),
        tags=draw.choice(["kept", "kept", "stripped"]),
    )  # fmt: skip
    # Amazon keeps tags; another cloud that does not is known by its tokens.
    losing.driver = lambda: provider("ec2" if cloud.faults.tags == "stripped" else "aws", settle_s=0.5)
    for action in ("RunInstances", "CreateSecurityGroup", "DescribeInstances", "TerminateInstances"):
        if draw.random() < 0.6:
            cloud.inject(action, draw.choice(_LOSES), draw.choice([1, 1, 2]))
    return await losing.history(seed, lambda id: cloud.state.lives.all[id].token)


def lost_answers(n, seed):
    """So many histories; returns what is wrong with any, foreign resources that were touched among it."""
    with pointed(ec2()) as cloud:
        losing = Losing(cloud, candidate(), lambda: provider(settle_s=0.5))
        return [line for k in range(n) for line in asyncio.run(history(losing, seed + k))] + losing.gone()


@long  # each kind of lost answer each day: tests/provider/test_responses_lost.py
@pytest.mark.parametrize("seed", some([1, 101], 1, 0))
def test_p02_lost_answers_leave_nothing_and_double_nothing(seed):
    assert lost_answers(6, seed) == []


def proxy(lost):
    """A forwarding proxy that hands on every whole request, and closes instead of answering those of an action."""

    def forward(asked):
        to = urlsplit(asked.path)
        link = http.client.HTTPConnection(to.hostname, to.port, timeout=30)
        kept = {name: value for name, value in asked.headers.items() if name.lower() != "expect"}
        try:
            link.request(asked.method, to.path, asked.body, kept)
        except ConnectionRefusedError:  # a call that an earlier test gave up goes on until its thread has ended
            return Answer(502)
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
