"""Lists fetched over HTTP from a loopback server that answers as the providers do."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cost.served import Sources, said, served
from tests.emulated.wire import Answer, Request

from cloudcmp.app.fetch import DownloadProgress, fetch
from cloudcmp.cost.sources.fetchers import KEY
from cloudcmp.cost.sources.web import Web
from cloudcmp.errors import CloudcmpError, NoCredentials, NotAllowed, ProviderFault, Throttled, Unreached, UserMistake
from cloudcmp.model.price import Item
from cloudcmp.store.prices import PriceBook

QUICK = {"pause_s": 0.001, "idle_s": 2.0}


@pytest.fixture(autouse=True)
def own_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A book of the test's own, and no way out."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for name in ("AWS", "AZURE", "GCP"):
        monkeypatch.setenv(f"CLOUDCMP_PRICES_{name}", "http://127.0.0.1:9")
    monkeypatch.setenv(KEY, "a key")


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sources]:
    """All three sources."""
    handler = Sources()
    with served(handler) as address:
        for name in ("AWS", "AZURE", "GCP"):
            monkeypatch.setenv(f"CLOUDCMP_PRICES_{name}", address)
        yield handler


def test_amazons_region_is_one_list(sources: Sources) -> None:
    (taken,) = fetch(["aws"], ["eu-central-1"])
    assert taken.source.endswith("/offers/v1.0/aws/AmazonEC2/20261120211005/eu-central-1/index.csv")
    assert (taken.how, taken.bytes, taken.doubts) == ("fetched", len(said("aws.csv")), 1)
    with PriceBook() as book:
        (list_,) = book.lists("aws", "eu-central-1", Item.INSTANCE)
        assert len(book.rows(list_, "aws", "eu-central-1", Item.INSTANCE, "m7i.large")) == 7


def test_a_region_s_list_tells_nothing_of_another_region(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    head, *rows = said("aws.csv").splitlines(keepends=True)
    strange = next(one for one in rows if b"EUC1-BoxUsage:m7i.xlarge" in one).replace(b"eu-central-1", b"us-east-1")
    monkeypatch.setattr("tests.cost.served.said", lambda name: b"".join([head, *rows, strange]))
    (taken,) = fetch(["aws"], ["eu-central-1"])
    with PriceBook() as book:
        assert book.places("aws") == (("aws", "eu-central-1"),)
        assert len(book.lists("aws", "eu-central-1", Item.INSTANCE)) == 1
    assert taken.rows > 0


def test_the_same_list_again_is_another_date_of_it(sources: Sources) -> None:
    (first,) = fetch(["aws"], ["eu-central-1"])
    (second,) = fetch(["aws"], ["eu-central-1"])
    assert (first.again, second.again) == (False, True)
    assert (second.rows, second.doubts) == (first.rows, first.doubts)


def test_azures_pages_are_one_list(sources: Sources) -> None:
    (taken,) = fetch(["azure"], ["westeurope"])
    assert len(sources.asked) == 2
    assert "armRegionName%20eq%20%27westeurope%27" in sources.asked[0].path
    assert taken.bytes > 8000


def test_googles_pages_are_one_list_of_the_regions_that_were_asked_for(sources: Sources) -> None:
    taken, *services = fetch(["gcp"], ["europe-west3"])
    assert "key" not in sources.asked[0].path.lower()
    assert [request.path.partition("pageToken=")[2] for request in sources.asked] == ["", "TOKEN2"] + 4 * [""]
    assert taken.rows > 10
    named = [(one.source.removeprefix("cloudbilling.googleapis.com "), one.rows > 0) for one in services]
    assert named == [(name, True) for name in ("Cloud Storage", "Cloud Firestore", "Cloud Bigtable", "Cloud Pub/Sub")]


def test_a_region_without_prices_is_no_list(sources: Sources) -> None:
    only_global, *services = fetch(["gcp"], ["mars-north1"])
    assert only_global.rows == 1
    assert [(one.rows, one.doubts) for one in services] == [(5, 0), (0, 1), (0, 0), (1, 0)]


def test_amazons_services_of_a_region_are_one_list(monkeypatch: pytest.MonkeyPatch) -> None:
    handler = Sources(services=True)
    with served(handler) as address:
        monkeypatch.setenv("CLOUDCMP_PRICES_AWS", address)
        machines, services = fetch(["aws"], ["eu-central-1"])
    assert machines.source.endswith("AmazonEC2/20261120211005/eu-central-1/index.csv")
    assert services.source.endswith("AmazonS3/20261120211005/eu-central-1/index.csv and 2 more offers")
    assert (services.rows, services.doubts) == (10, 0)
    with PriceBook() as book:
        (list_,) = book.lists("aws", "eu-central-1", Item.REQUEST)
        assert book.names(list_, "aws", "eu-central-1", Item.REQUEST) == (
            "DynamoDB ReadRequestUnits", "DynamoDB WriteRequestUnits", "S3 Requests-Tier1", "S3 Requests-Tier2",
            "SQS Standard")  # fmt: skip


def test_an_address_of_amazons_that_leads_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere(Sources):
        def __call__(self, request: Request) -> Answer:
            answer = super().__call__(request)
            body = answer.body.replace(b"/offers/v1.0/aws/AmazonS3/2026", b"//example.org/offers/v1.0/2026")
            return Answer(answer.status, body)

    handler = Elsewhere(services=True)
    with served(handler) as address:
        monkeypatch.setenv("CLOUDCMP_PRICES_AWS", address)
        with pytest.raises(ProviderFault, match="the address of AmazonS3 in eu-central-1 leads elsewhere"):
            list(fetch(["aws"], ["eu-central-1"]))


@pytest.mark.parametrize(
    ("provider", "regions", "kind"),
    [
        ("aws", [], UserMistake),
        ("azure", [], UserMistake),
        ("aws", ["eu-centrale-1"], UserMistake),
        ("azure", ["x' or 1 eq 1"], UserMistake),
        ("no-such-cloud", [], UserMistake),
    ],
)
def test_mistakes_are_told_in_one_line(
    sources: Sources, provider: str, regions: list[str], kind: type[CloudcmpError]
) -> None:
    with pytest.raises(kind) as told:
        list(fetch([provider], regions))
    assert len(str(told.value).splitlines()) == 1


def test_google_needs_a_key(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY)
    with pytest.raises(NoCredentials):
        list(fetch(["gcp"], []))
    monkeypatch.setenv(KEY, "another")
    with pytest.raises(NotAllowed) as told:
        list(fetch(["gcp"], []))
    assert "another" not in str(told.value)


def _badly(monkeypatch: pytest.MonkeyPatch, answer: Answer, **how: float) -> str:
    """What is told of Azure's prices where every answer is this one; and nothing is in the book."""

    def handler(_: Request) -> Answer:
        return answer

    with served(handler) as address:
        monkeypatch.setenv("CLOUDCMP_PRICES_AZURE", address)
        with pytest.raises(ProviderFault) as told:
            list(fetch(["azure"], ["westeurope"], web=Web(**(QUICK | how))))  # type: ignore[arg-type]
    with PriceBook() as book:
        assert book.lists() == []
    assert len(str(told.value).splitlines()) == 1
    return str(told.value)


def test_a_slow_answer_ends_at_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "sent nothing for 0.2 s" in _badly(monkeypatch, Answer(body=b"{}", delay_s=1.0), idle_s=0.2)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(404), "the answer was 404"),
        (Answer(301, headers={"Location": "https://example.org/"}), "the answer was 301"),
        (Answer(body=b"{" * 100, how="part"), "broke off"),
        (Answer(how="close"), "broke off"),
        (Answer(how="reset"), "broke off"),
        (Answer(body=b"xy", headers={"Content-Encoding": "gzip"}), "its compression cannot be read"),
        (Answer(body=gzip.compress(b"{}")[:-4], headers={"Content-Encoding": "gzip"}), "its compression is cut short"),
        (Answer(body=b"x", headers={"Content-Encoding": "br"}), "it is compressed by 'br'"),
        (Answer(body=b"<html>no</html>"), "it is HTML or XML, not JSON"),
        (Answer(body=gzip.compress(b" " * (65 * 2**20)), headers={"Content-Encoding": "gzip"}), "more than 67108864"),
        (Answer(body=b'{"Items": [], "NextPageLink": "https://example.org/x"}'), "leads elsewhere"),
        (Answer(body=b'{"Items": [], "NextPageLink": 5}'), "is no text"),
    ],
    ids=lambda one: one if isinstance(one, str) else None,
)
def test_bad_answers_are_told_in_one_line(monkeypatch: pytest.MonkeyPatch, answer: Answer, why: str) -> None:
    assert why in _badly(monkeypatch, answer)


def test_pages_that_go_round_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def handler(request: Request) -> Answer:
        link = f"http://{request.header('Host')}/api/retail/prices?again"
        return Answer(body=f'{{"Items": [], "NextPageLink": "{link}"}}'.encode())

    with served(handler) as address:
        monkeypatch.setenv("CLOUDCMP_PRICES_AZURE", address)
        with pytest.raises(ProviderFault, match="leads back to an earlier one"):
            list(fetch(["azure"], ["westeurope"]))


def test_a_busy_server_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sources, waits = Sources(), [429, 503, 500]

    def handler(request: Request) -> Answer:
        return Answer(waits.pop()) if waits else sources(request)

    slept: list[float] = []
    with served(handler) as address:
        sources.port = int(address.rpartition(":")[2])
        monkeypatch.setenv("CLOUDCMP_PRICES_AZURE", address)
        (taken,) = fetch(["azure"], ["westeurope"], web=Web(sleep=slept.append))
        assert taken.rows > 5
    assert slept == [1.0, 2.0, 4.0]


def test_one_that_stays_busy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(lambda _: Answer(503)) as address:
        monkeypatch.setenv("CLOUDCMP_PRICES_AZURE", address)
        with pytest.raises(Throttled):
            list(fetch(["azure"], ["westeurope"], web=Web(sleep=lambda _: None)))


def test_no_way_is_told() -> None:
    with pytest.raises(Unreached):
        list(fetch(["azure"], ["westeurope"], web=Web(sleep=lambda _: None)))


@pytest.mark.parametrize("address", ["http://example.org", "ftp://127.0.0.1", "file:///etc/passwd"])
def test_prices_come_over_https_alone(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("CLOUDCMP_PRICES_AZURE", address)
    with pytest.raises(UserMistake):
        list(fetch(["azure"], ["westeurope"]))


def test_progress_is_told_every_two_seconds_with_what_is_left() -> None:
    now, said_ = [0.0], []
    progress = DownloadProgress(said_.append, lambda: now[0])
    for second in range(5):
        now[0] = float(second)
        progress.update("aws", second * 10**7, 10**8)
    assert said_ == ["aws: 20 MB of 100 MB, about 8.0 s left", "aws: 40 MB of 100 MB, about 6.0 s left"]


def test_one_catalogue_is_taken_for_each_region_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    page = json.loads(said("gcp-2.json"))
    both = [{**one, "serviceRegions": ["europe-west3", "us-central1"]} for one in page["skus"]]
    body = json.dumps({**page, "skus": both}).encode()
    with served(lambda _: Answer(body=body)) as address:
        monkeypatch.setenv("CLOUDCMP_PRICES_GCP", address)
        taken = [one for at in ("europe-west3", "us-central1", "europe-west3") for one in fetch(["gcp"], [at])]
    machines = taken[::5]
    assert [one.again for one in machines] == [False, False, True]
    assert len({one.sha256 for one in machines}) == 1
    with PriceBook() as book:
        assert book.places("gcp") == (("gcp", "europe-west3"), ("gcp", "us-central1"))
