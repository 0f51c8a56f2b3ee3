"""Lifecycle actions of clouds on machines, timed by the controller."""

from cloudcmp.catalog.tables.base import choice, compute, suite
from cloudcmp.model.cast import Role
from cloudcmp.model.metric import Better, Param, ParamKind, Probe, Reduce, When

_MACHINES = ("count", "os")


def _give_up(default: str) -> Param:
    return Param("give_up_s", ParamKind.SECONDS, default, "what is not there by then is a timeout")


METRICS = (
    compute("scaling_latency_s", "s", Better.LOWER, Reduce.MEDIAN, _MACHINES, 60.0,
             "Time from just before `count` machines are asked for until the last of them can be used: its agent answers, "
             "or, on Windows, its remote desktop or remote management port takes a connection.",
             "What the application itself needs to start."),
    compute("provisioning_latency_s", "s", Better.LOWER, Reduce.MEDIAN, _MACHINES, 35.0,
             "The part of the scaling latency before the guest was powered on: all but the guest's own uptime when it "
             "became usable, of the last of `count` machines.",
             "What the provider does to a machine after its kernel has started."),
    compute("booting_latency_s", "s", Better.LOWER, Reduce.MEDIAN, _MACHINES, 25.0,
             "The part of the scaling latency after power-on: the guest's own uptime when it became usable, of the last of "
             "`count` machines.",
             "Firmware and boot loader, which run before the kernel counts its uptime."),
    compute("api_latency_s", "s", Better.LOWER, Reduce.MEDIAN, _MACHINES, 1.5,
             "Time from just before `count` machines are asked for until the last request was answered.",
             "Anything that happens to a machine: most providers answer before they begin."),
    compute("running_latency_s", "s", Better.LOWER, Reduce.MEDIAN, _MACHINES, 30.0,
             "Time from just before `count` machines are asked for until the provider calls the last of them running.",
             "Whether anything in it runs yet."),
    compute("reachable_latency_s", "s", Better.LOWER, Reduce.MEDIAN, _MACHINES, 50.0,
             "Time from just before `count` machines are asked for until the last of them answers over TCP.",
             "Signing in, and copying the agent."),
    compute("scale_in_latency_s", "s", Better.LOWER, Reduce.MEDIAN, ("count",), 30.0,
             "Time from just before `count` machines are asked to be destroyed until the last of them is seen gone.",
             "When billing ends, which is the provider's to say."),
    compute("resize_latency_s", "s", Better.LOWER, Reduce.MEDIAN, ("to",), 90.0,
             "Time from asking that a machine become another type until it can be used again: stop, change, start.",
             "What the application itself needs to stop and start."),
    compute("recovery_latency_s", "s", Better.LOWER, Reduce.MEDIAN, (), 40.0,
             "Time from telling a guest to kill itself until its agent answers after another boot.",
             "Faults of the host, and data that was not yet on the disk."),
)  # fmt: skip

_NO_PEER = "the controller times what a cloud does; no tool does the same"

PROBES = (
    Probe("scaling",
          ("scaling_latency_s", "provisioning_latency_s", "booting_latency_s", "api_latency_s", "running_latency_s",
           "reachable_latency_s"),
          (choice("os", "linux windows", "guest system of the candidates that are meant"),
           Param("count", ParamKind.COUNT, "1", "machines asked for at once, by the candidates of that count"),
           Param("within_s", ParamKind.SECONDS, "300", "a deadline of your own: which share of launches is usable within it"),
           _give_up("1200")),
          "Asks for a launch's machines and times each step until all can be used; the guest's uptime splits it.",
          "The application's own start.", 90.0, (Role.CONTROLLER,), when=When.ARRIVAL, no_peer=_NO_PEER),
    Probe("recovery", ("recovery_latency_s",), (_give_up("600"),),
          "Has the guest kill itself, then waits until its agent answers after another boot; one of the launch's last.",
          "Faults of the host.", 60.0, (Role.CONTROLLER,), when=When.LAST, no_peer=_NO_PEER),
    Probe("resize", ("resize_latency_s",),
          (Param("to", ParamKind.TEXT, "next", "another offering of the region; next: the cheapest larger one, whose price the study or its provider must tell", ("next",)),
           _give_up("1200")),
          "Makes a machine another type and waits until it can be used again; one of the launch's last.",
          "The application's own stop and start.", 120.0, (Role.CONTROLLER,), when=When.LAST, no_peer=_NO_PEER),
    Probe("scale_in", ("scale_in_latency_s",),
          (Param("count", ParamKind.COUNT, "1", "machines given back at once, by the candidates of that count"), _give_up("600")),
          "Destroys the launch's machines at its end and waits until all are seen gone.",
          "When billing ends.", 30.0, (Role.CONTROLLER,), when=When.RELEASE, no_peer=_NO_PEER),
)  # fmt: skip

SUITES = (
    suite("elasticity", "How fast machines come, come back, grow and go (CloudCmp, section 5.1.2, and beyond).",
           ("scaling", {}), ("recovery", {}), ("resize", {}), ("scale_in", {})),
)  # fmt: skip
