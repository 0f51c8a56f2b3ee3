"""Storage servers of other projects: fetched from the registries, started on loopback, ended whatever happens.

    with serving("azurite") as one:
        one.endpoints["azure-blob"], one.access, one.secret

`kinds.py` is their table. `python -m tests.servers` lists them, fetches them, or runs one in the foreground.
"""
