"""Checks that the providers' own clients of a plan can be measured where it asks from."""

from collections.abc import Iterator
from importlib.util import find_spec

from cloudcmp.catalog.other_clients import CLIS, SDKS, SdkClient, protocol_of
from cloudcmp.errors import Fault
from cloudcmp.model.cast import Service
from cloudcmp.model.plan import CLI, NATIVE, SDK_PYTHON, Candidate, Plan
from cloudcmp.programs import find_program

_FIXED = (("reuse", "yes"), ("expect_continue", "no"))
"""Parameters that these clients do not let their users choose."""


def client_faults(plan: Plan) -> list[Fault]:
    """One line for each candidate, and each probe, whose client other than the agent cannot be measured."""
    by_launch = {launch.index: plan.candidates[launch.candidate] for launch in plan.launches}
    faults: list[Fault] = []
    for trial in plan.trials:
        candidate, params = by_launch[trial.launch], dict(trial.params)
        client = params.get("client", NATIVE)
        if client == NATIVE or candidate.simulated:
            continue
        faults += _of_candidate(candidate, client)
        faults += [
            Fault(
                f"probe {trial.probe}", f"client: {client} has no {name}: {params[name]}: it decides that itself",
                f"write a probe with {name}: {only} for it",
            )
            for name, only in _FIXED
            if params.get(name, only) != only
        ]  # fmt: skip
    return list(dict.fromkeys(faults))


def _of_candidate(one: Candidate, client: str) -> Iterator[Fault]:
    if one.service is None:
        return  # another check refuses it
    if one.runner != "local":
        what = f"client: {client} asks from this machine only, and the study asks from {one.runner}"
        yield Fault(one.id, what, f"write from: local, or client: {NATIVE}")
        return
    fault = _sdk_fault(one.id, one.service) if client == SDK_PYTHON else _cli_fault(one.id, one.service)
    if fault is not None:
        yield fault


def _sdk_fault(where: str, service: Service) -> Fault | None:
    protocol = protocol_of(service.provider, service.kind)
    if protocol is None:
        what = f"client: {SDK_PYTHON} has no library for {service.kind.value} of {service.provider}"
        return Fault(where, what, f"write client: {NATIVE}")
    return _not_installed(where, SDK_PYTHON, SDKS[protocol])


def _cli_fault(where: str, service: Service) -> Fault | None:
    protocol = protocol_of(service.provider, service.kind)
    if protocol is None or protocol not in CLIS:
        others = NATIVE if protocol is None else f"{NATIVE} or {SDK_PYTHON}"
        what = f"client: {CLI} has no command for {service.kind.value} of {service.provider}"
        return Fault(where, what, f"write client: {others}")
    command = CLIS[protocol]
    if find_program(command.program) is None:
        return Fault(where, f"client: {CLI} needs {command.program}, which is not installed", command.install)
    return _not_installed(where, CLI, SDKS[protocol])


def _not_installed(where: str, client: str, library: SdkClient) -> Fault | None:
    try:
        there = find_spec(library.module) is not None
    except ModuleNotFoundError:
        there = False
    what = f"client: {client} needs {library.library}, which is not installed"
    return None if there else Fault(where, what, "pip install 'cloudcmp[clients]'")
