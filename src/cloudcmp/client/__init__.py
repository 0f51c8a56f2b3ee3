"""Measures storage services through the providers' own libraries and commands, as the agent measures them natively.

`python -m cloudcmp.client` takes one job line and writes the agent's frames. It asks the same questions of the same
data as the agent does; nothing but the client's own call is timed.
"""
