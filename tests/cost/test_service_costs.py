"""What one operation of a service costs: the table of billed operations, prices of the book, and the break-even."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.command import cloudcmp
from tests.cost import service_lists as lists
from tests.plan.clouds import planned as planned_on

from cloudcmp.app.fetch import take_in
from cloudcmp.app.other_prices import at_todays_prices
from cloudcmp.catalog import PROBES
from cloudcmp.cost.figures import with_cost
from cloudcmp.cost.service_costs import OperationFigure, break_even_per_hour, operation_cost, operation_figures
from cloudcmp.cost.service_operations import BILLING, CAPACITY, MOVED, STORED, billing_of, charged_names, protocol_of
from cloudcmp.cost.service_prices import service_prices, with_service_prices
from cloudcmp.model.cast import Service, ServiceKind
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.plan import Candidate
from cloudcmp.model.price import How, Item, PriceRow, Unit, UnitPrice
from cloudcmp.published import load
from cloudcmp.units import Money

from .test_service_prices import read

TODAY = date(2026, 11, 22)
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp()
USD = "USD"
PLACES = {"aws": "eu-central-1", "azure": "westeurope", "gcp": "europe-west3"}
KINDS = {
    ServiceKind.BLOB: ("upload", "download", "list", "delete"),
    ServiceKind.TABLE: ("get", "put", "query", "load"),
    ServiceKind.QUEUE: ("send", "receive"),
}


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A book with the services of all three providers."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for kind, name, content in (
        *(("aws", offer, lists.amazon(offer)) for offer in lists.AMAZON),
        ("azure", "azure", lists.azure()),
        *(("gcp", service, lists.google(service)) for service in lists.GOOGLE),
    ):
        file = tmp_path / name
        file.write_bytes(content)
        take_in(kind, [file], source=name, how=How.FETCHED, now=NOW)


def service(provider: str, kind: ServiceKind, endpoint: str = "") -> Service:
    return Service(kind, provider, PLACES.get(provider, "here"), endpoint)


def cost(provider: str, op: str, size: int = 150, endpoint: str = "", **how: object) -> Decimal | str:
    """The cost of a million operations at the book's prices, or why there is none."""
    kind = next(kind for kind, ops in KINDS.items() if op in ops)
    asked = service(provider, kind, endpoint)
    found = operation_cost(asked, op, size, service_prices(asked, TODAY)[0], **how)  # type: ignore[arg-type]
    return found.why if found.money is None else found.money.amount * 10**6


@pytest.mark.parametrize(
    ("provider", "op", "size", "dollars"),
    [
        ("aws", "upload", 10_485_760, "5.4"),
        ("aws", "list", 0, "5.4"),
        ("aws", "download", 10_485_760, "0.43"),
        ("aws", "delete", 0, "0"),
        ("aws", "get", 150, "0.07625"),
        ("aws", "get", 4097, "0.1525"),
        ("aws", "put", 150, "1.525"),
        ("aws", "put", 1025, "3.05"),
        ("aws", "query", 150, "0.07625"),
        ("aws", "query", 1000, "0.22875"),
        ("aws", "send", 50, "0.4"),
        ("aws", "receive", 65_537, "0.8"),
        ("azure", "upload", 1024, "5.4"),
        ("azure", "download", 1024, "0.43"),
        ("azure", "get", 150, "0.036"),
        ("azure", "load", 150, "0.00036"),
        ("azure", "send", 50, "0.4"),
        ("azure", "receive", 50, "0.8"),
        ("gcp", "upload", 1024, "5"),
        ("gcp", "download", 1024, "0.4"),
        ("gcp", "get", 150, "0.38"),
        ("gcp", "put", 150, "1.15"),
        ("gcp", "query", 150, "3.8"),
    ],
)
def test_an_operation_costs_its_units(book: None, provider: str, op: str, size: int, dollars: str) -> None:
    assert cost(provider, op, size) == Decimal(dollars)


def test_a_message_counts_at_least_a_thousand_bytes(book: None) -> None:
    each = Decimal("0.0390625") / 2**30
    assert cost("gcp", "send", 50) == each * 1000 * 10**6
    assert cost("gcp", "receive", 5000) == each * 5000 * 10**6


def test_a_strong_read_of_a_table_costs_twice_an_eventual_one(book: None) -> None:
    assert cost("aws", "get", read="strong") == 2 * Decimal(str(cost("aws", "get", read="eventual")))
    assert cost("aws", "query", read="strong") == "its index has no strong reads"


def test_a_download_to_elsewhere_costs_its_bytes_as_well(book: None) -> None:
    assert cost("gcp", "download", 2**30, within_region=False) == Decimal("120000.4")
    assert cost("aws", "download", 2**30, within_region=False) == "no price is known for egress egress"


@pytest.mark.parametrize(
    ("provider", "op", "endpoint", "why"),
    [
        (
            "gcp",
            "get",
            "https://bigtable.googleapis.com",
            "it is billed by the hour of its nodes, not by the operation",
        ),
        ("azure", "put", "https://a.table.cosmos.azure.com", "its request units depend on its indexes"),
        ("aws", "get", "http://127.0.0.1:8000", "nobody's price list has the requests of its endpoint"),
        ("openstack", "upload", "", "its operator has no price list that can be fetched"),
        ("aws", "get", "https://amazonaws.com.example.org", "nobody's price list has the requests of its endpoint"),
    ],
)
def test_what_has_no_price_for_an_operation_says_why(
    book: None, provider: str, op: str, endpoint: str, why: str
) -> None:
    assert str(cost(provider, op, 150, endpoint)).startswith(why)


def test_a_read_of_request_units_is_known_up_to_a_kilobyte(book: None) -> None:
    at = "https://a.table.cosmos.azure.com"
    assert cost("azure", "get", 1024, at) == Decimal("0.285")
    assert cost("azure", "get", 1025, at) == "how more than 1024 bytes are billed is not documented"


def test_every_cost_has_its_source_its_date_and_its_page(book: None) -> None:
    asked = service("aws", ServiceKind.BLOB)
    found = operation_cost(asked, "upload", 0, service_prices(asked, TODAY)[0])
    assert (found.source, found.dated, found.page) == ("AmazonS3", TODAY, "https://aws.amazon.com/s3/pricing/")
    assert found.milli_cents == Decimal("0.54")


def test_every_operation_of_every_probe_has_a_line_in_the_table() -> None:
    params = [param for name in ("table", "blob", "queue") for param in PROBES[name].params if param.name == "op"]
    ops = {word for param in params for word in param.words} | {"load"}
    known = {(one.protocol, one.op) for one in BILLING}
    for provider in (*PLACES, "openstack"):
        for kind, own in KINDS.items():
            protocol = protocol_of(service(provider, kind))
            if provider == "openstack" and kind is not ServiceKind.BLOB:
                assert protocol == ""
                continue
            assert set(own) & ops <= {op for at, op in known if at == protocol}
    assert ops == {op for own in KINDS.values() for op in own} - {"delete"}


def test_every_name_in_the_table_is_one_that_a_reader_gives() -> None:
    rows: list[PriceRow] = []
    for kind, content in (
        *(("aws", lists.amazon(offer)) for offer in lists.AMAZON),
        ("azure", lists.azure()),
        *(("gcp", lists.google(one)) for one in lists.GOOGLE),
    ):
        rows += read(kind, content)[0]
    listed = {(row.item, row.name) for row in rows} | {(Item.EGRESS, "egress")}
    billed = {pair for one in BILLING for pair in charged_names(one.protocol) if pair[0] is not Item.STORAGE}
    assert billed <= listed
    assert {*STORED, *MOVED, *CAPACITY} <= {one.protocol for one in BILLING}


@given(st.sampled_from(BILLING), st.integers(0, 10**8), st.integers(0, 10**8))
def test_more_bytes_never_cost_less(billing: object, one: int, other: int) -> None:
    for charge in billing.charges:  # type: ignore[attr-defined]
        assert charge.quantity(min(one, other)) <= charge.quantity(max(one, other))
        assert charge.quantity(0) > 0


# -- the book and the study


def test_without_a_list_one_line_names_the_command() -> None:
    candidate = Candidate(
        0, "x", Offering("aws", "eu-west-1", "m"), "aws", service=Service(ServiceKind.BLOB, "aws", "eu-west-1")
    )
    _, (line,) = with_service_prices(candidate, TODAY)
    assert line == "aws/eu-west-1 blob: no price list at hand has its requests: cloudcmp fetch aws --region eu-west-1"


@pytest.fixture(autouse=True)
def empty_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def test_the_studys_own_prices_win(book: None) -> None:
    own = (UnitPrice(Item.REQUEST, Decimal(7), USD, Unit.MILLION, "study file"),)
    candidate = Candidate(0, "x", Offering("aws", "eu-central-1", "m"), "aws",
                          service=service("aws", ServiceKind.BLOB), unit_prices=own)  # fmt: skip
    assert with_service_prices(candidate, TODAY) == (candidate, ())
    found = operation_cost(service("aws", ServiceKind.BLOB), "upload", 5, own)
    assert found.money == Money(Decimal("0.000007"), USD)
    assert operation_cost(service("aws", ServiceKind.BLOB), "download", 5, own).why == "no price is known for egress"


def test_a_bare_candidate_gets_the_books_prices(book: None) -> None:
    bare = Candidate(0, "x", Offering("aws", "eu-central-1", "m"), "aws", service=service("aws", ServiceKind.BLOB))
    priced, lines = with_service_prices(bare, TODAY)
    assert lines == ()
    assert {(one.item, one.name, one.source, one.as_of) for one in priced.unit_prices} == {
        (Item.REQUEST, "S3 Requests-Tier1", "AmazonS3", TODAY),
        (Item.REQUEST, "S3 Requests-Tier2", "AmazonS3", TODAY),
        (Item.STORAGE, "S3 Standard", "AmazonS3", TODAY),
    }


def test_simulated_services_are_never_priced_by_the_book(book: None) -> None:
    one = Candidate(
        0, "x", Offering("simulated", "eu", "m"), "simulated", service=Service(ServiceKind.BLOB, "simulated", "eu")
    )
    assert with_service_prices(one, TODAY) == (one, ())


def test_an_old_list_is_no_price(book: None) -> None:
    prices, lines = service_prices(service("aws", ServiceKind.QUEUE), date(2027, 1, 22))
    assert prices == ()
    assert [line.partition(": ")[2] for line in lines] == ["its price is of 2026-11-22, not of the last 30 days"]


def test_a_doubtful_line_leaves_its_own_price_unknown(tmp_path: Path) -> None:
    file = tmp_path / "s3.csv"
    file.write_bytes(lists.amazon("AmazonS3", [{**lists.S3[0], "PricePerUnit": "0.0000000"}, *lists.S3[1:]]))
    take_in("aws", [file], how=How.FETCHED, now=NOW)
    prices, (line,) = service_prices(service("aws", ServiceKind.BLOB), TODAY)
    assert line == "aws/eu-central-1 blob, S3 Requests-Tier1: a price of zero is unknown, not free"
    assert [one.name for one in prices] == ["S3 Requests-Tier2", "S3 Standard"]


def test_todays_prices_replace_those_of_a_list_and_not_the_studys(book: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloudcmp.cost.offering_prices.utc_day", lambda: TODAY)
    old = (UnitPrice(Item.REQUEST, Decimal(9), USD, Unit.MILLION, "an old list", None, "S3 Requests-Tier1"),)
    own = (UnitPrice(Item.REQUEST, Decimal(9), USD, Unit.MILLION, "study file"),)
    plan = planned_on("[{provider: aws, region: eu, service: blob, from: {offering: small}}]",
                      probes="[{probe: blob}]", rest="budget: 9 USD\n")  # fmt: skip
    for prices, expected in ((old, {"AmazonS3"}), (own, {"study file"})):
        one = replace(plan.candidates[0], service=service("aws", ServiceKind.BLOB), unit_prices=prices)
        (new,) = at_todays_prices(replace(plan, candidates=(one,))).candidates
        assert {price.source for price in new.unit_prices} == expected


def test_a_quote_bills_each_operation_as_its_provider_does(book: None) -> None:
    def priced(candidate: Candidate) -> tuple[Candidate, tuple[str, ...]]:
        machine = Price(Decimal("0.1"), USD, "study file")
        return with_service_prices(replace(candidate, offering=replace(candidate.offering, price=machine)), TODAY)

    text = "[{provider: aws, region: eu-central-1, service: blob, from: {offering: m}}]"
    probes = "[{probe: blob, params: {op: [upload, download], size_bytes: 1024}}]"
    plan = planned_on(text, probes=probes, priced=priced, rest="budget: 900 USD\n")
    billed = {line.item: line for line in plan.quote.lines if line.item.startswith("request")}
    assert set(billed) == {"request S3 Requests-Tier1, aws/eu-central-1", "request S3 Requests-Tier2, aws/eu-central-1"}
    for name, per_million in (("Tier1", "5.4"), ("Tier2", "0.43")):
        line = billed[f"request S3 Requests-{name}, aws/eu-central-1"]
        assert (line.price, line.unit) == (Decimal(per_million), "10^6")
    assert plan.quote.worst_cost is not None
    figures = {one.op: one for one in operation_figures(plan)}
    assert figures["upload"].cost.milli_cents == Decimal("0.54")
    assert figures["upload"].break_even_per_hour == break_even_per_hour(
        Money(Decimal("0.1"), USD), Money(Decimal("0.0000054"), USD)
    )
    assert with_cost(plan, (), {}) == ()


def test_a_quote_bills_the_nodes_of_a_list(book: None) -> None:
    def priced(candidate: Candidate) -> tuple[Candidate, tuple[str, ...]]:
        machine = Price(Decimal("0.1"), USD, "study file")
        return with_service_prices(replace(candidate, offering=replace(candidate.offering, price=machine)), TODAY)

    text = "[{provider: gcp, region: europe-west3, service: table, api: bigtable, from: {offering: m}}]"
    plan = planned_on(text, probes="[{probe: table}]", priced=priced, rest="launches: 2\nbudget: 9 USD\n")
    assert {one.name for one in plan.candidates[0].unit_prices} == {"Bigtable Node", "Bigtable SSD Storage"}
    (line,) = [one for one in plan.quote.lines if one.item.startswith("capacity")]
    assert (line.quantity, line.price) == (Decimal(2), Decimal("0.78"))
    assert plan.quote.worst_cost is not None
    (figure,) = operation_figures(plan)
    assert figure.cost.why == "it is billed by the hour of its nodes, not by the operation"
    own = (UnitPrice(Item.CAPACITY, Decimal("0.7"), USD, Unit.HOUR, "study file"),)
    assert plan.candidates[0].service is not None
    assert operation_cost(plan.candidates[0].service, "get", 150, own).why == figure.cost.why


# -- table 4 of CloudCmp (IMC 2010)


def test_the_published_break_even_follows_from_tables_3_and_4() -> None:
    document = load("cloudcmp-2010")
    machine = Money(Decimal(document.table("3").column("Price")["C1, C1.1"]), USD)
    assert machine.amount == Decimal("0.085")
    even = {}
    for op in ("get", "put", "query"):
        milli_cents = Decimal(document.table("4").column(op)["C1"])
        even[op] = break_even_per_hour(machine, Money(milli_cents / 100_000, USD))
    assert round(even["query"] or 0) == 5782
    assert round(even["get"] or 0) == 65385
    assert min(one for one in even.values() if one) > 5 * 1000  # the paper says about 1000


def test_nothing_breaks_even_with_a_free_operation_or_another_currency() -> None:
    machine = Money(Decimal("0.1"), USD)
    assert break_even_per_hour(machine, Money(Decimal(0), USD)) is None
    assert break_even_per_hour(machine, Money(Decimal(1), "EUR")) is None


@given(st.decimals("0.001", "100", places=3), st.decimals("0.0000001", "1", places=7))
def test_at_the_break_even_both_cost_the_same(hour: Decimal, each: Decimal) -> None:
    even = break_even_per_hour(Money(hour, USD), Money(each, USD))
    assert even is not None
    assert float(even * each) == pytest.approx(float(hour))


def test_an_operation_that_is_free_is_zero_and_says_so(book: None) -> None:
    found = operation_cost(asked := service("gcp", ServiceKind.BLOB), "delete", 0, service_prices(asked, TODAY)[0])
    assert (found.money, found.note) == (Money(Decimal(0), USD), "free by the provider's page")
    assert billing_of("gcs", "delete") is not None
    assert OperationFigure(0, "delete", 0, "", found, None).cost.milli_cents == 0


def test_the_commands_price_a_service_from_a_list_or_name_the_command(tmp_path: Path) -> None:
    today = datetime.now(UTC).date().isoformat().encode()
    (tmp_path / "s3.csv").write_bytes(lists.amazon("AmazonS3").replace(b"2026-11-20T", today + b"T"))
    candidate = "{provider: aws, region: eu-central-1, service: blob, from: {offering: m7i.large, price: 0.121 USD/h}}"
    (tmp_path / "s.yaml").write_text(
        f"schema: 1\nquestion: which?\ncandidates: [{candidate}]\nprobes: [{{probe: blob, params: {{op: upload}}}}]\n"
        "budget: 900 USD\n"
    )
    before = cloudcmp("plan", "s.yaml", "--json", cwd=tmp_path)
    assert before.code == 0, before.err
    notes = json.loads(before.out)["data"]["quote"]["notes"]
    assert [note for note in notes if "cloudcmp fetch aws --region eu-central-1" in note and "blob" in note]
    assert cloudcmp("fetch", "--from", "s3.csv", "--as", "aws", cwd=tmp_path).code == 0
    after = json.loads(cloudcmp("plan", "s.yaml", "--json", cwd=tmp_path).out)["data"]
    (line,) = [one for one in after["quote"]["lines"] if one["item"].startswith("request")]
    assert (line["item"], line["price"]) == ("request S3 Requests-Tier1, aws/eu-central-1", "5.4")
    assert after["quote"]["worst_cost"] is not None
