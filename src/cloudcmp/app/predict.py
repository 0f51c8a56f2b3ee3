"""Predicts an application on the candidates of studies and tables, from its demands."""

from collections.abc import Callable, Sequence
from pathlib import Path

from cloudcmp.answer.prediction.predict import CONFIDENCE
from cloudcmp.answer.prediction.predict import predict as predicted
from cloudcmp.answer.prediction.sentences import with_sentences
from cloudcmp.app.recommend import sold
from cloudcmp.errors import OutsideFault, UserMistake
from cloudcmp.model.application import Application
from cloudcmp.model.prediction import Aim, Prediction
from cloudcmp.model.price import Purchase
from cloudcmp.study.application import read_application

_MOST_BYTES = 2**20


def application_of(path: Path) -> Application:
    """The application of a file; raises UserMistake with every fault of it."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise UserMistake.at(str(path), "there is no such file", "'cloudcmp profile --out' writes one") from error
    except IsADirectoryError as error:
        raise UserMistake.at(
            str(path), "this is a folder", "name the application's file first, then the sources"
        ) from error
    except OSError as error:
        raise OutsideFault.at(str(path), error.strerror or str(error), "make the file readable") from error
    return read_application(content, path)


def predict(
    path: Path, sources: Sequence[str], *, aim: Aim = Aim.TIME, confidence: float = CONFIDENCE,
    purchase: Purchase = Purchase.ON_DEMAND, progress: Callable[[str], None] = lambda _: None, anonymise: bool = False,
) -> Prediction:  # fmt: skip
    """Predict the application of a file on what some sources have measured.

    `anonymise` replaces the names of providers, regions and offerings, as `recommend` does.

    Sources are as for `recommend`: folders of studies, tables, or `prices`. Raises UserMistake for a file or a source
    that cannot be read, and if no source measures what the application needs.
    """
    if not 0.5 <= confidence < 1:
        raise UserMistake.at("--confidence", f"{confidence} is not between 0.5 and 1", "write e.g. 0.9")
    application = application_of(path)
    market = sold(sources, purchase=purchase, progress=progress)
    found = with_sentences(predicted(application, market, aim, confidence))
    if not anonymise:
        return found
    from cloudcmp.report.anonymity import of_market

    return of_market([*market.keys, *([found.home] if found.home else [])], sources).rewritten(found)
