"""Price lists of providers and libraries: how each is fetched and read."""
