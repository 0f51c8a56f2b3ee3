"""Price lists of providers and libraries: how each is read, and from where it is fetched."""
