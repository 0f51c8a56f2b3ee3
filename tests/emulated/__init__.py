"""Stand-ins for what is outside: servers that speak the real protocols, and lie when told to."""
