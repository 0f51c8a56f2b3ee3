"""Watching a server from itself: what its kernel accounts for each connection, and its counters."""
