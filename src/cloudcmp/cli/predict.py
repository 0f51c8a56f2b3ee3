"""`cloudcmp predict`: how an application would do on each candidate, from its demands and what was measured."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cloudcmp.cli.options import Anonymise, Buying, Json, purchase_of
from cloudcmp.cli.output import EXIT_DONE, console, emit, ignore, warn


class _Aim(StrEnum):
    TIME = "time"
    COST = "cost"


def predict(
    application: Annotated[
        Path, typer.Argument(help="The application's demands.", show_default=False, metavar="APP.yaml")
    ],
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Folders of studies, tables of offerings, or `prices` for the price book.",
            show_default=False,
            metavar="SOURCE...",
        ),
    ],
    minimise: Annotated[_Aim, typer.Option("--minimise", help="What the short list is by.")] = _Aim.TIME,
    confidence: Annotated[
        float, typer.Option("--confidence", metavar="P", help="The confidence of the intervals.")
    ] = 0.9,
    purchase: Annotated[
        Buying | None, typer.Option("--purchase", help="Use prices of this way to buy machines.", show_default=False)
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also show every candidate, and those without a prediction.")
    ] = False,
    anonymise: Anonymise = False,
    json: Json = False,
) -> int:
    """Predict an application's time and cost on each candidate, without porting it.

    APP.yaml holds its demands: written by `cloudcmp profile`, or by hand as pages, jobs or static files. The times of
    two or more machines that ran it give intervals, and choose the measurement that explains it.

    Example: cloudcmp predict app.yaml DIR

    Example: cloudcmp predict shop.yaml DIR prices --minimise cost
    """
    from cloudcmp.app import predict as use_case
    from cloudcmp.model.prediction import Aim
    from cloudcmp.model.price import Purchase

    found = use_case.predict(
        application, sources, aim=Aim(minimise.value), confidence=confidence,
        purchase=purchase_of(purchase) or Purchase.ON_DEMAND, progress=ignore if json else warn, anonymise=anonymise,
    )  # fmt: skip
    if json:
        from cloudcmp.report.prediction_documents import prediction

        emit("predict", prediction(found), found.notes)
    else:
        from cloudcmp.report.prediction import show_prediction

        show_prediction(console(), found, every=every)
    return EXIT_DONE
