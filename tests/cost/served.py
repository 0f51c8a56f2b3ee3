"""Price sources on a loopback port, which answer as those of the providers do, from the files that are kept here."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.cost import service_lists
from tests.emulated.wire import Answer, Handler, Request, Server

ANSWERS = Path(__file__).parent / "answers"


def said(name: str) -> bytes:
    """The bytes of an answer."""
    return (ANSWERS / name).read_bytes()


class Sources:
    """Amazon's, Azure's and Google's price sources; `asked` are the requests that came.

    Amazon has offers of storage services only with `services`.
    """

    def __init__(self, *, services: bool = False) -> None:
        self.asked: list[Request] = []
        self.services = services
        self.port = 0

    @property
    def base(self) -> str:
        """Their address."""
        return f"http://127.0.0.1:{self.port}"

    def __call__(self, request: Request) -> Answer:
        """One answer."""
        self.asked.append(request)
        parts = urlsplit(request.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if parts.path == "/api/retail/prices":
            page = json.loads(said(f"azure-{query.get('page', '1')}.json"))
            if page["NextPageLink"]:
                page["NextPageLink"] = f"{self.base}/api/retail/prices?page=2"
            return Answer(body=json.dumps(page).encode())
        if parts.path.endswith("/skus"):
            if request.header("X-Goog-Api-Key") != "a key":
                return Answer(403)
            if (service := parts.path.split("/")[-2]) in service_lists.GOOGLE:
                return Answer(body=service_lists.google(service))
            return Answer(body=said("gcp-2.json" if query.get("pageToken") == "TOKEN2" else "gcp-1.json"))
        return self._amazon(parts.path)

    def _amazon(self, path: str) -> Answer:
        if path == "/offers/v1.0/aws/AmazonEC2/current/region_index.json":
            address = "/offers/v1.0/aws/AmazonEC2/20261120211005/eu-central-1/index.json"
            regions = {"eu-central-1": {"regionCode": "eu-central-1", "currentVersionUrl": address}}
            return Answer(body=json.dumps({"formatVersion": "v1.0", "regions": regions}).encode())
        offer = path.split("/")[4] if path.startswith("/offers/") else ""
        if self.services and offer in service_lists.AMAZON:
            if path.endswith("/eu-central-1/index.csv"):
                return Answer(body=service_lists.amazon(offer))
            address = f"/offers/v1.0/aws/{offer}/20261120211005/eu-central-1/index.json"
            regions = {"eu-central-1": {"regionCode": "eu-central-1", "currentVersionUrl": address}}
            return Answer(body=json.dumps({"regions": regions}).encode())
        if path == "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan/current/region_index.json":
            return Answer(body=b'{"regions": []}')
        if path.endswith("region_index.json"):
            return Answer(body=b'{"regions": {}}')
        return Answer(body=said("aws.csv")) if path.endswith("/eu-central-1/index.csv") else Answer(404)


@contextmanager
def served(handler: Handler) -> Iterator[str]:
    """A handler at an address."""
    with Server(handler) as server:
        if isinstance(handler, Sources):
            handler.port = server.port
        yield f"http://127.0.0.1:{server.port}"
