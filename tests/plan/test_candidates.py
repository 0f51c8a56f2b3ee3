"""Candidates: what is sold, who runs it, and an id of its own."""

from decimal import Decimal

import pytest
from tests.plan.clouds import planned

from cloudcmp.errors import UserMistake
from cloudcmp.plan.published_offerings import published_offerings


def ids(candidates: str, **how: object) -> list[str]:
    return [one.id for one in planned(candidates, **how).candidates]


def test_ids_are_readable_and_unique() -> None:
    one = "{provider: aws, region: eu, offering: small}"
    assert ids(f"[{one}, {one}]") == ["aws/eu/small", "aws/eu/small #2"]
    assert ids("[{provider: aws, offering: small, volume: ssd, count: 3}]") == ["aws/eu/small+ssd x3"]


@pytest.mark.parametrize("on", ["simulated", "local"])
def test_a_stand_in_is_named_and_noted(on: str) -> None:
    plan = planned("[{provider: aws, region: eu, offering: small}, {provider: local, offering: 1cpu}]", on=on)
    assert plan.candidates[0].id == f"aws/eu/small on {on}"
    assert {one.runner for one in plan.candidates} == {on}
    assert plan.candidates[1].id == ("local/local/1cpu" if on == "local" else "local/local/1cpu on simulated")
    assert any(note.startswith(f"{on} stands in") for note in plan.quote.notes)
    assert [one.truth is not None for one in plan.candidates] == [on == "simulated"] * 2


def test_a_clouds_price_is_not_this_machines() -> None:
    assert planned("[{provider: aws, offering: small}]", on="local").candidates[0].offering.price is None
    assert planned("[{provider: aws, offering: small}]", on="simulated").candidates[0].offering.price is not None
    own = planned("[{provider: local, offering: 1cpu, price: 0.03 USD/h}]", on="local").candidates[0].offering.price
    assert own is not None


def test_the_studys_price_counts() -> None:
    price = planned("[{provider: aws, offering: small, price: 0.5 USD/h}]").candidates[0].offering.price
    assert price is not None
    assert (price.amount_per_hour, price.source) == (Decimal("0.5"), "study file")


def test_an_unknown_offering_is_refused_where_the_provider_can_be_asked() -> None:
    two = "[{provider: aws, region: eu, offering: smal}, {provider: simulated, region: nimbus, offering: tiny}]"
    with pytest.raises(UserMistake) as caught:
        planned(two)
    first, second = caught.value.faults
    assert first.line().startswith("test.yaml:3:14: unknown offering 'smal' in aws/eu; nearest: small; see")
    assert second.line().startswith("test.yaml:3:59: unknown offering 'tiny' in simulated/nimbus; ")


def test_what_is_planted_may_have_any_name() -> None:
    assert ids("[{provider: simulated, region: x, offering: my-own, truth: {}}]") == ["simulated/x/my-own"]


def test_a_provider_without_a_list_is_taken_at_its_word() -> None:
    plan = planned("[{provider: azure, region: west, offering: B1s}]")
    assert plan.candidates[0].id == "azure/west/B1s"
    assert any("nothing is known" in note for note in plan.quote.notes)
    known = planned("[{provider: azure, region: us, offering: Standard-A1}]").candidates[0].offering
    assert known in published_offerings("azure", "us")
    assert (known.vcpus, known.memory_gib) == (1, 1.75)


def test_only_two_providers_stand_in() -> None:
    with pytest.raises(UserMistake, match="'gcp' cannot stand in for a cloud; use --on simulated"):
        planned(on="gcp")


def test_a_machine_type_made_to_order_is_what_its_name_says() -> None:
    asked = "{provider: gcp, region: eu, offering: n2-custom-4-8192, zone: eu-b, price: 0.1 USD/h}"
    one = planned(f"[{asked}]", rest="budget: 9 USD").candidates[0]
    assert (one.offering.vcpus, one.offering.memory_gib, one.id) == (4.0, 8.0, "gcp/eu/n2-custom-4-8192 eu-b")
    assert dict(one.options) == {"zone": "eu-b"}
    with pytest.raises(UserMistake, match=r"n2-custom-5-8192: 5 vCPUs are neither .*; write e\.g\. n2-custom-4-8192"):
        planned(f"[{asked.replace('custom-4', 'custom-5')}]", rest="budget: 9 USD")


SCALING = "[{probe: scaling, params: {os: windows}}]"


@pytest.mark.parametrize(("provider", "name"), [("aws", "small"), ("azure", "own"), ("gcp", "wide")])
def test_an_image_of_windows_is_no_machine_of_linux(provider: str, name: str) -> None:
    one = f"provider: {provider}, region: eu, offering: {name}, image: windows-2022"
    (found,) = planned(f"[{{{one}}}]", SCALING).candidates
    assert dict(found.options)["os"] == "windows"
    assert found.id == f"{provider}/eu/{name} windows"
    assert found == planned(f"[{{{one}, os: windows}}]", SCALING).candidates[0]
    with pytest.raises(UserMistake, match="os: linux, but the image windows-2022 is Windows; write os: windows"):
        planned(f"[{{{one}, os: linux}}]")


def test_an_image_of_windows_has_no_price_of_linux() -> None:
    linux = planned("[{provider: aws, region: eu, offering: small}]").candidates[0]
    windows = planned("[{provider: aws, region: eu, offering: small, image: windows-2019}]", SCALING).candidates[0]
    assert linux.offering.price is not None
    assert windows.offering.price is None
