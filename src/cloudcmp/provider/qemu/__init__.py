"""Virtual machines on this host, as a provider like any other."""
