"""Measures storage services through the providers' own Python libraries, as the agent measures them natively.

`python -m cloudcmp.client` takes one job line and writes the agent's frames. It asks the same questions of the same
data as the agent does; nothing but the library's own call is timed.
"""
