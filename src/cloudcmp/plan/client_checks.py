"""Checks that the providers' own clients of a plan can be measured where it asks from."""

from collections.abc import Iterator
from importlib.util import find_spec

from cloudcmp.catalog.sdk_clients import SdkClient, sdk_of
from cloudcmp.errors import Fault
from cloudcmp.model.plan import SDK_PYTHON, Candidate, Plan

_NATIVE = "native"
_FIXED = (("reuse", "yes"), ("expect_continue", "no"))
"""Parameters that a library does not let its user choose."""


def client_faults(plan: Plan) -> list[Fault]:
    """One line for each candidate, and each probe, whose client other than the agent cannot be measured."""
    by_launch = {launch.index: plan.candidates[launch.candidate] for launch in plan.launches}
    faults: list[Fault] = []
    for trial in plan.trials:
        candidate, params = by_launch[trial.launch], dict(trial.params)
        client = params.get("client", _NATIVE)
        if client == _NATIVE or candidate.simulated:
            continue
        if client != SDK_PYTHON:
            what = f"client: {client} is measured on simulated clouds only"
            faults.append(Fault(f"probe {trial.probe}", what, f"write client: {_NATIVE} or {SDK_PYTHON}"))
            continue
        faults += _of_candidate(candidate)
        faults += [
            Fault(
                f"probe {trial.probe}", f"client: {SDK_PYTHON} has no {name}: {params[name]}: its library decides",
                f"write a probe with {name}: {only} for it",
            )
            for name, only in _FIXED
            if params.get(name, only) != only
        ]  # fmt: skip
    return list(dict.fromkeys(faults))


def _of_candidate(one: Candidate) -> Iterator[Fault]:
    if one.service is None:
        return  # another check refuses it
    if one.runner != "local":
        what = f"client: {SDK_PYTHON} asks from this machine only, and the study asks from {one.runner}"
        yield Fault(one.id, what, f"write from: local, or client: {_NATIVE}")
        return
    library = sdk_of(one.service.provider, one.service.kind)
    if library is None:
        what = f"client: {SDK_PYTHON} has no library for {one.service.kind.value} of {one.service.provider}"
        yield Fault(one.id, what, f"write client: {_NATIVE}")
    elif not _is_installed(library):
        what = f"client: {SDK_PYTHON} needs {library.library}, which is not installed"
        yield Fault(one.id, what, "pip install 'cloudcmp[clients]'")


def _is_installed(library: SdkClient) -> bool:
    try:
        return find_spec(library.module) is not None
    except ModuleNotFoundError:
        return False
