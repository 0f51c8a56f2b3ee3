"""A load replayed through measured launch times: machines by policy, requests over target, and money."""
