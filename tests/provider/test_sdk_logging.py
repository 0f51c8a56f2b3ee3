"""The clouds' libraries log nothing of what they send, however loud they were made."""

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.app.search import Searcher
from tests.emulated.tail import NAMES
from tests.provider.every import EVERY, pointed
from tests.slices import long, some

from cloudcmp.model.lease import FIREWALL, INSTANCE, Handle
from cloudcmp.model.remote import Access, KeyPair
from cloudcmp.provider.common.sdk_logging import limit_logging

CANARY = "canary-in-the-user-data-of-a-machine"
LIBRARIES = (
    "azure", "azure.core", "azure.core.pipeline.policies.http_logging_policy", "azure.identity", "botocore",
    "botocore.auth", "botocore.endpoint", "botocore.hooks", "botocore.httpsession", "botocore.parsers", "google",
    "google.auth", "google.auth.transport.requests", "google.cloud.compute_v1", "keystoneauth", "keystoneauth.session",
    "keystoneauth.identity", "keystoneauth.identity.v3.base", "libcloud", "msal", "openstack", "requests", "urllib3",
    "urllib3.connectionpool",
)  # fmt: skip


@pytest.fixture
def loud(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Everything is logged that any library can log; afterwards as before."""
    loggers = [logging.getLogger(name) for name in {*LIBRARIES, *logging.root.manager.loggerDict}]
    before = [(one, one.level) for one in loggers]
    for one in loggers:
        one.setLevel(logging.DEBUG)
    caplog.set_level(logging.DEBUG)
    yield caplog
    for one, level in before:
        one.setLevel(level)


def _secrets(name: str, cloud: Any) -> dict[str, list[bytes]]:
    """What nobody may see of a study at a cloud, by what it is."""
    found: dict[str, list[str]] = {"user data": [CANARY]}
    if name == "aws":
        found["secret key"] = [cloud.account.secret]
    elif name == "azure":
        found |= {"client secret": [cloud.login.secret], "token": [*cloud.login.tokens]}
    elif name == "gcp":
        lines = cloud.account.file("")["private_key"].splitlines()[1:-1]
        found["private key"] = [one for one in lines if len(one) > 20]
    elif name == "openstack":
        found |= {"password": [cloud.keystone.password], "token": [*cloud.keystone.tokens]}
    else:
        found["token"] = [cloud.token]
    return {what: [one.encode() for one in some] for what, some in found.items()}


async def _launch(name: str) -> None:
    """Make a firewall and a machine, look at it and around, and end it."""
    kind = EVERY[name]
    driver = kind.provider()
    group = await driver.create(kind.request(FIREWALL, "f"))
    access = Access(KeyPair(CANARY, "public"), "client", f'#cloud-config\n{{"runcmd": ["{CANARY}"]}}\n')
    wanted = kind.request(token="m", options={"firewall": group}, access=access)
    handle = Handle(INSTANCE, wanted.region, await driver.create(wanted))
    await driver.look(handle)
    await driver.check(())
    await driver.leftovers()
    await driver.destroy(handle)


def _said(name: str, loud: pytest.LogCaptureFixture) -> tuple[set[str], set[str]]:
    """Which secrets were logged by a launch, and which libraries logged anything that is no warning."""
    with pointed(name) as cloud:
        asyncio.run(_launch(name))
        secrets = _secrets(name, cloud)
    # What serves the emulated clouds logs what it is sent.
    records = [one for one in loud.records if one.name.partition(".")[0] not in {"moto", "werkzeug"}]
    text = "\n".join(f"{one.getMessage()} {vars(one)}" for one in records)  # what is said beside the words as well
    assert "Bearer " not in text
    talk = {one.name.partition(".")[0] for one in records if one.levelno < logging.WARNING}
    return Searcher(secrets).hits(text.encode()), talk & {one.partition(".")[0] for one in LIBRARIES}


@pytest.mark.parametrize("name", some(sorted(EVERY), 3, 0))
def test_p38_no_library_logs_a_secret(name: str, loud: pytest.LogCaptureFixture) -> None:
    secrets, talk = _said(name, loud)
    assert secrets == set()
    assert talk <= ({"botocore"} if name == "aws" else set())  # the emulated EC2 is made with it, in this process


@long
@pytest.mark.parametrize(
    ("name", "library", "secrets"),
    [
        ("aws", "botocore", {"user data"}),
        ("azure", "azure", set()),
        ("gcp", "google", {"user data"}),
        ("openstack", "keystoneauth", set()),
        (NAMES[0], "urllib3", set()),
    ],
)
def test_a_library_that_is_not_hushed_logs_what_it_sends(
    name: str, library: str, secrets: set[str], loud: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "longtail" if name in NAMES else name
    monkeypatch.setattr(f"cloudcmp.provider.{module}.sdk.limit_logging", lambda *_, **__: None)
    found, talk = _said(name, loud)
    assert found >= secrets
    assert library in talk


_LOUDEST = """
import asyncio, sys
from tests.provider.every import EVERY
from tests.provider.test_sdk_logging import _launch
asyncio.run(_launch(sys.argv[1]))
"""


@pytest.mark.parametrize(
    ("name", "loudest"),
    [
        (NAMES[0], {"LIBCLOUD_DEBUG": "/dev/stderr", "LIBCLOUD_DEBUG_PRETTY_PRINT_RESPONSE": "1"}),
        *some(
            [
                *((name, {"LIBCLOUD_DEBUG": "/dev/stdout"}) for name in NAMES),
                ("gcp", {"GOOGLE_SDK_PYTHON_LOGGING_SCOPE": "google"}),
                ("gcp", {"GOOGLE_SDK_PYTHON_LOGGING_SCOPE": "google.cloud.compute_v1"}),
            ],
            1,
            1,
        ),
    ],
)
def test_p38_no_library_shows_a_secret_because_the_environment_says_so(name: str, loudest: dict[str, str]) -> None:
    with pointed(name) as cloud:
        done = subprocess.run(
            [sys.executable, "-c", _LOUDEST, name], capture_output=True, check=True, env=os.environ | loudest
        )
        assert Searcher(_secrets(name, cloud)).hits(done.stdout + done.stderr) == set()


def test_what_is_stricter_stays_so_and_what_is_below_follows() -> None:
    above, below, strict = (logging.getLogger(f"hushed{more}") for more in ("", ".below", ".strict"))
    above.setLevel(logging.DEBUG)
    below.setLevel(logging.DEBUG)
    strict.setLevel(logging.CRITICAL)
    limit_logging("hushed")
    levels = [one.getEffectiveLevel() for one in (above, below, strict, logging.getLogger("hushed.later"))]
    assert levels == [logging.WARNING, logging.WARNING, logging.CRITICAL, logging.WARNING]
    limit_logging("hushed", level=logging.ERROR)
    limit_logging("hushed")
    assert below.getEffectiveLevel() == logging.ERROR
    assert logging.getLogger("hushedness").getEffectiveLevel() == logging.root.getEffectiveLevel()
