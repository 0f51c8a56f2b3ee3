"""The providers' own clients in a plan: measured from this machine if there is a library, refused before anything."""

from pathlib import Path
from typing import Any

import pytest

from cloudcmp.app.plan import plan_text
from cloudcmp.errors import UserMistake
from cloudcmp.model.plan import Plan
from cloudcmp.plan import check_runnable, client_checks

PROVIDERS = ("aws", "azure", "gcp", "local", "openstack", "simulated", "ssh")
HERE = "{provider: s3, name: one, service: blob, endpoint: http://127.0.0.1:9, from: local}"
AZURE = (
    "{provider: azure, region: westeurope, service: blob, name: one, from: local, "
    "prices: {requests: 0.005 USD/1000, moved: 0.09 USD/GB}}"
)
SERVED = "{provider: s3, name: one, service: blob, endpoint: http://127.0.0.1:9, serve: sleep 9, from: local}"


def plan(candidate: str, probe: str) -> Plan:
    text = f"schema: 1\nquestion: which?\ncandidates: [{candidate}]\nprobes: [{probe}]\nlaunches: 2\nbudget: 9 USD\n"
    return plan_text(text, "s.yaml")


def faults(candidate: str, probe: str, **how: Any) -> list[str]:
    try:
        check_runnable(plan(candidate, probe), PROVIDERS, **how)
    except UserMistake as mistake:
        return [fault.line() for fault in mistake.faults]
    return []


@pytest.fixture(autouse=True)
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Amazon's command is installed."""
    (tmp_path / "aws").write_text("#!/bin/sh\n")
    (tmp_path / "aws").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize("candidate", [HERE, SERVED])
def test_other_clients_are_measured_beside_the_agent_from_this_machine(candidate: str) -> None:
    assert faults(candidate, "{probe: blob, params: {client: [native, sdk-python, cli]}}") == []


@pytest.mark.parametrize(
    ("candidate", "probe", "line"),
    [
        (AZURE.replace("azure", "gcp").replace("service: blob", "service: queue"),
         "{probe: queue, params: {client: cli}}",
         "client: cli has no command for queue of gcp; write client: native or sdk-python"),
        (AZURE, "{probe: blob, params: {client: cli}}",
         "client: cli has no command for blob of azure; write client: native or sdk-python"),
        ("{provider: openstack, region: here, service: blob, name: one, from: local, "
         "prices: {requests: 0.005 USD/1000, moved: 0.09 USD/GB}}",
         "{probe: blob, params: {client: cli}}",
         "client: cli has no command for blob of openstack; write client: native"),
        (HERE, "{probe: blob, params: {client: cli, reuse: no}}",
         "probe blob: client: cli has no reuse: no: it decides that itself; write a probe with reuse: yes for it"),
        (HERE, "{probe: blob, params: {client: sdk-python, reuse: [yes, no]}}",
         "client: sdk-python has no reuse: no: it decides that itself; write a probe with reuse: yes for it"),
        (HERE, "{probe: blob, params: {client: sdk-python, expect_continue: yes}}",
         "client: sdk-python has no expect_continue: yes: it decides that itself; "
         "write a probe with expect_continue: no for it"),
        ("{provider: openstack, region: here, service: blob, name: one, from: local, "
         "prices: {requests: 0.005 USD/1000, moved: 0.09 USD/GB}}",
         "{probe: blob, params: {client: sdk-python}}",
         "client: sdk-python has no library for blob of openstack; write client: native"),
        ("{provider: aws, region: us-east-1, service: blob, name: one, from: {offering: c7i.large, price: 0.1 USD/h}, "
         "prices: {requests: 0.005 USD/1000, moved: 0.09 USD/GB}}",
         "{probe: blob, params: {client: sdk-python}}",
         "client: sdk-python asks from this machine only, and the study asks from aws; "
         "write from: local, or client: native"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_refused_in_one_line_each(candidate: str, probe: str, line: str) -> None:
    found = faults(candidate, probe)
    assert len(found) == 1, found
    assert found[0].endswith(line)


@pytest.mark.parametrize("client", ["sdk-python", "cli"])
def test_a_library_that_is_not_installed_is_refused(client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_checks, "find_spec", lambda _: None)
    found = faults(HERE, f"{{probe: blob, params: {{client: {client}}}}}")
    assert len(found) == 1
    assert found[0].endswith(f"client: {client} needs boto3, which is not installed; pip install 'cloudcmp[clients]'")


def test_a_command_that_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    found = faults(HERE, "{probe: blob, params: {client: [native, cli]}}")
    assert len(found) == 1
    assert found[0].endswith(
        "client: cli needs aws, which is not installed; "
        "pip install awscli in an environment of its own, and have its aws in PATH"
    )
