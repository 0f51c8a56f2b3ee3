"""Measures platforms that run a handler of ours: rounds, cold starts, a load, and the limits that it meets."""
