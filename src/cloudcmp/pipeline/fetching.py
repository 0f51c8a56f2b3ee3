"""Fetching price lists from where their providers publish them."""

from collections.abc import Callable, Iterator, Sequence

from cloudcmp.cost.sources.libcloud import bundled_file
from cloudcmp.errors import UserMistake
from cloudcmp.pipeline.catalogue import Taken, take_in


def fetch(
    providers: Sequence[str],
    regions: Sequence[str],  # noqa: ARG001 - of the lists that are fetched by region
    *,
    progress: Callable[[str], None] | None = None,  # noqa: ARG001
) -> Iterator[Taken]:
    """Fetch the lists of providers, and put each into the price book."""
    for name in providers:
        if name != "libcloud":
            raise UserMistake.at(name, "its list can only be read from a file yet", "name it: --from FILE")
        path = bundled_file()
        if path is None:
            raise UserMistake.at("libcloud", "apache-libcloud is not installed", "add the extra: cloudcmp[libcloud]")
        yield take_in("libcloud", [path], source="apache-libcloud")
