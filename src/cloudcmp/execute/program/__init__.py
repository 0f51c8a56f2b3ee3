"""A user's program while it runs here: its processes, its counters, and the processor's own."""
