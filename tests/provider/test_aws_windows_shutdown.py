"""The end built into a machine of EC2: on Windows too, and what the plan says that it rests on."""

import asyncio
import base64
import re
from datetime import UTC, datetime

import pytest
from tests.emulated.ec2_requests import launched, provider
from tests.plan.clouds import planned

from cloudcmp.app import plan as planning
from cloudcmp.provider.aws.launch import windows_shutdown
from cloudcmp.provider.aws.safeguards import SAFEGUARDS

AT = datetime(2026, 3, 1, 23, 50, tzinfo=UTC).timestamp()
KNOWN = {one.name: one.how for one in SAFEGUARDS["aws"]}["death"]


def test_p07_windows_is_told_its_end_in_the_call_that_makes_it(cloud):
    asyncio.run(launched(provider(), options={"os": "windows"}, at=AT, ttl_s=5400.0))
    (call,) = cloud.calls("RunInstances")
    assert call.params["InstanceInitiatedShutdownBehavior"] == "terminate"
    told = base64.b64decode(call.params["UserData"]).decode()
    assert told.startswith("<powershell>\n")
    assert told.endswith("</powershell>\n<persist>true</persist>\n")
    assert "[DateTime]'2026-03-02T01:20:00'" in told
    assert "AddSeconds(5400)" in told
    assert "Register-ScheduledTask" in told
    assert "-StartWhenAvailable" in told
    assert told.count("shutdown.exe") == 2  # by the task, and at once armed where no task can be made


def test_nothing_but_the_time_is_in_it(cloud):
    names = {"name": "cloudcmp-'; rm", "token": "token-$(x)", "at": AT, "ttl_s": 60.2}
    asyncio.run(launched(provider(), options={"os": "windows"}, **names))
    told = base64.b64decode(cloud.calls("RunInstances")[0].params["UserData"]).decode()
    assert told == windows_shutdown(AT, 60.2)
    digits = re.compile(r"\d+")
    assert digits.sub("0", windows_shutdown(AT, 60.2)) == digits.sub("0", windows_shutdown(AT + 1e6, 9e6))
    assert "2026-03-01T23:51:01" in told  # never sooner than what was asked for


def test_linux_is_told_by_cloud_init(cloud):
    asyncio.run(launched(provider()))
    told = base64.b64decode(cloud.calls("RunInstances")[0].params["UserData"]).decode()
    assert told.startswith("#cloud-config\n")


MINE = "image: ami-0123456789abcdef0"
RESTS = [
    ("", "[{probe: fma}]", []),
    ("image: ubuntu-24.04", "[{probe: fma}]", []),
    (MINE, "[{probe: fma}]", ["only if its image ami-0123456789abcdef0 runs cloud-init, which is not known"]),
    ("os: windows", "[{probe: scaling, params: {os: windows}}]", ["if its image runs EC2Launch, as Amazon's own do"]),
    (f"os: windows, {MINE}", "[{probe: scaling, params: {os: windows}}]", ["ami-0123456789abcdef0 runs EC2Launch"]),
    ("", "[{probe: fma}, {probe: resize}]", ["no timer runs in between", "until cleanup or a sweep"]),
]


@pytest.mark.parametrize(("option", "probes", "says"), RESTS)
def test_the_plan_says_on_what_the_end_rests(option, probes, says):
    made = planned(f"[{{provider: aws, region: eu, offering: small, {option}}}]", probes)
    told = {one.name: one.how for one in planning.safeguards(made)["aws"]}
    assert told["sweep"] == {one.name: one.how for one in SAFEGUARDS["aws"]}["sweep"]
    assert told["death"].startswith(KNOWN)
    for text in says:
        assert text in told["death"]
    if not says:
        assert told["death"] == KNOWN
