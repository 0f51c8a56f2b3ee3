"""Watching a service over time: the loop of samples, the requests, and the metrics for others."""
