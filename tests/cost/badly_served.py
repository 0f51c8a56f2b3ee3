"""Ways in which a source of prices answers badly: nothing of it is taken, and one line says so."""

import gzip
import json
import tempfile
from collections.abc import Callable
from functools import cache

from tests.cost.fates import Fate, own_data
from tests.cost.served import said, served
from tests.emulated.wire import Answer, Request

from cloudcmp.app.fetch import fetch
from cloudcmp.cost.sources.web import Web
from cloudcmp.errors import CloudcmpError
from cloudcmp.store.prices import PriceBook


def _paged(body: Callable[[str], bytes]) -> Callable[[Request], Answer]:
    return lambda request: Answer(body=body(f"http://{request.header('Host')}"))


SERVED: dict[str, Callable[[Request], Answer]] = {
    "pages that go round": _paged(
        lambda host: json.dumps({"Items": [], "NextPageLink": f"{host}/api/retail/prices?round"}).encode()
    ),
    "a page that leads elsewhere": _paged(lambda _: b'{"Items": [], "NextPageLink": "http://127.0.0.2:1/"}'),
    "half of what it says": lambda _: Answer(body=said("azure-2.json"), how="part"),
    "no byte": lambda _: Answer(how="close"),
    "a reset": lambda _: Answer(how="reset"),
    "a gzip bomb": lambda _: Answer(body=_bomb(), headers={"Content-Encoding": "gzip"}),
    "gzip cut short": lambda _: Answer(
        body=gzip.compress(said("azure-2.json"))[:-9], headers={"Content-Encoding": "gzip"}
    ),
    "gzip that is none": lambda _: Answer(body=b"not at all", headers={"Content-Encoding": "gzip"}),
    "silence": lambda _: Answer(body=b"{}", delay_s=0.6),
    "not found": lambda _: Answer(404),
    "not allowed": lambda _: Answer(403),
    "elsewhere": lambda _: Answer(302, headers={"Location": "/api/retail/prices?x"}),
    "always busy": lambda _: Answer(503),
    "a page of HTML": lambda _: Answer(body=b"<html></html>"),
}


@cache
def _bomb() -> bytes:
    return gzip.compress(b"\0" * (70 * 2**20))


def badly_served(name: str) -> str:
    """What is wrong with a fetch whose server answers badly, empty where nothing is."""
    with tempfile.TemporaryDirectory() as folder, served(SERVED[name]) as address, own_data(folder) as patch:
        patch.setenv("CLOUDCMP_PRICES_AZURE", address)
        try:
            web = Web(idle_s=0.3, sleep=lambda _: None)
            told = [str(one) for one in fetch(["azure"], ["westeurope"], web=web)]
            return f"it was taken: {told}"
        except CloudcmpError as error:
            one = Fate(error.exit_code, str(error))
        with PriceBook() as book:
            if book.lists():
                return "the book was changed"
    told_so = len(one.told.splitlines()) == 1 and "azure/westeurope" in one.told and "every SKU" in one.told
    return "" if one.code == 3 and told_so else one.told
