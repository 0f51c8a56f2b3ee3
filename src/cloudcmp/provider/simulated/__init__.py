"""Clouds with planted truth, for quotes, tests and demonstrations."""

from cloudcmp.provider.simulated.cloud import SimulatedInstance, SimulatedProvider
