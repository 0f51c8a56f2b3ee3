"""The reasons for the end of a launch: values for code to branch on; sentences are made where they are shown."""

from enum import StrEnum


class LaunchReason(StrEnum):
    """Why a launch did not run all of its trials to their own end."""

    MACHINE_LOST = "machine_lost"
    MACHINE_UNREACHABLE = "machine_unreachable"
    MACHINE_FAILED = "machine_failed"
    TIME_TO_LIVE = "time_to_live"
    CONTROLLER_SLEPT = "controller_slept"
    PROVIDER_UNREACHABLE = "provider_unreachable"
    CONTROLLER_FAULT = "controller_fault"
    ACCOUNT_FAULT = "account_fault"
    BUDGET_SPENT = "budget_spent"
    STOPPED = "stopped"

    @property
    def text(self) -> str:
        """The reason as one line without details; empty if the fault itself has the text."""
        return _TEXTS.get(self, "")


_TEXTS = {
    LaunchReason.MACHINE_LOST: "the machine was taken away during an earlier trial of the launch",
    LaunchReason.MACHINE_UNREACHABLE: "its machine is out of reach, and its provider does not say that it is gone",
    LaunchReason.TIME_TO_LIVE: "its machine's time to live is over, or too short for the next trial",
    LaunchReason.CONTROLLER_SLEPT: "this machine slept during a trial",
    LaunchReason.PROVIDER_UNREACHABLE: "there was no way to the provider for a while",
    LaunchReason.STOPPED: "stopped on request",
}
