"""`cloudcmp simulate`: how users around the world would feel a service, and what it would cost."""

from pathlib import Path
from typing import Annotated

import typer

from cloudcmp.cli.options import Json, Quiet, option
from cloudcmp.cli.output import EXIT_DONE, console, emit, ignore, say, warn


def simulate(
    scenario: Annotated[Path, typer.Argument(help="A scenario file.", show_default=False, metavar="SCENARIO.yaml")],
    variant: Annotated[
        list[str] | None, option("--variant", "Simulate a variant of the scenario too. Give it for each.", "NAME")
    ] = None,
    runs: Annotated[int | None, option("--runs", "Independent runs, instead of the scenario's.", "N")] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Seed, instead of the scenario's.",
                                             show_default=False)] = None,
    page: Annotated[Path | None, option("--page", "Write the answer as one HTML file.", "FILE")] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:  # fmt: skip
    """Simulate a world-wide service: response times by user base and hour, and the cost of machines and transfer.

    A scenario has user bases, data centres, latencies between them, and how requests are sent and served. With `search`
    it asks for the cheapest set of data centres that is fast enough. Every number is simulated, with the interval of
    the simulation itself.

    Example: cloudcmp simulate studies/scenarios/delgado-twitter.yaml

    Example: cloudcmp simulate studies/scenarios/delgado-twitter.yaml --variant 'local hours' --page twitter.html
    """
    from cloudcmp.app.simulate import simulate as use_case

    found = use_case(
        scenario, variants=variant or (), seed=seed, runs=runs, progress=ignore if json or quiet else warn
    )  # fmt: skip
    if page is not None:
        from cloudcmp.app.report import write_page

        write_page(found, page)
    if json:
        from cloudcmp.report.simulation_documents import simulation

        emit("simulate", simulation(found), found.cautions)
        return EXIT_DONE
    from cloudcmp.report.simulation import show_simulation

    show_simulation(console(), found)
    if page is not None:
        say(str(page))
    return EXIT_DONE
