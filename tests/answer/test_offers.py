"""What the providers of a study offer, by the study's own plan."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

from tests.analysis.planted import FMA, RTT50, plan_of

from cloudcmp.answer.offers import offered
from cloudcmp.catalog import place_of
from cloudcmp.catalog.places import PLACES
from cloudcmp.model.offering import Offering, Price, Volume
from cloudcmp.model.plan import Plan
from cloudcmp.model.trial import Attempt, Outcome

PRICE = Price(Decimal("0.0958"), "USD", "price list", date(2026, 11, 20))
BLOB = "blob_latency_s concurrency=1;op=download;percentile=50;size_bytes=1024"
WAN = "wan_rtt_s percentile=50;vantage=europe"


def study(*sold: Offering, cells: tuple[str, ...] = (FMA, RTT50)) -> Plan:
    plan = plan_of(candidates=len(sold), cells=cells, runner="aws")
    chosen = (replace(one, offering=each) for one, each in zip(plan.candidates, sold, strict=True))
    return replace(plan, candidates=tuple(chosen))


AWS = Offering("aws", "eu-west-1", "m7i.large", 2, 8.0, "general", PRICE)
GCP = Offering("gcp", "europe-west4", "n2-standard-2", 2, 8.0)


def test_each_provider_has_its_services_types_and_places() -> None:
    found = offered(study(AWS, replace(AWS, region="us-east-1"), GCP, cells=(FMA, RTT50, BLOB, WAN)))
    assert [(one.provider, one.compute, one.storage, one.network, one.wan) for one in found.services] == [
        ("aws", ("m7i.large",), ("blob",), ("loopback",), ("europe",)),
        ("gcp", ("n2-standard-2",), ("blob",), ("loopback",), ("europe",)),
    ]
    assert [(one.provider, one.region, one.vcpus, one.price) for one in found.types] == [
        ("aws", "eu-west-1", 2, PRICE),
        ("aws", "us-east-1", 2, PRICE),
        ("gcp", "europe-west4", 2, None),
    ]
    assert [(one.region, one.place, one.part) for one in found.places] == [
        ("eu-west-1", "Ireland", "Europe"),
        ("us-east-1", "Northern Virginia", "US"),
        ("europe-west4", "Netherlands", "Europe"),
    ]
    assert not any(one.simulated for one in (*found.services, *found.types, *found.places))


def test_a_region_that_is_not_known_has_no_place_and_a_volume_is_named() -> None:
    plan = study(replace(AWS, provider="ec2", region="ours"))
    plan = replace(plan, candidates=(replace(plan.candidates[0], volume=Volume("gp3", 20 * 2**30)),))
    found = offered(plan)
    assert (found.places[0].place, found.places[0].part) == (None, None)
    assert found.types[0].volume == "gp3 20 GiB"
    assert found.services[0].storage == ("gp3",)


def test_each_region_of_simulated_is_a_cloud_of_its_own_and_labelled() -> None:
    clouds = [Offering("simulated", region, "medium", 2, 8.0) for region in ("nimbus", "stratus")]
    plan = study(*clouds)
    plan = replace(plan, candidates=tuple(replace(one, runner="simulated") for one in plan.candidates))
    found = offered(plan)
    assert [(one.provider, one.simulated) for one in found.services] == [
        ("simulated/nimbus", True),
        ("simulated/stratus", True),
    ]


def test_the_zones_are_those_that_the_machines_told() -> None:
    plan = study(AWS, GCP)
    facts = ('{"zones":["eu-west-1a"]}', '{"zones":["eu-west-1b","eu-west-1b"]}', "no json", "[]")
    attempts = [Attempt(at, 0, Outcome.OK, 0.0, 1.0, facts=said) for at, said in enumerate(facts)]
    assert [one.zones for one in offered(plan, attempts).places] == [("eu-west-1a", "eu-west-1b"), ()]


def test_each_place_is_whole() -> None:
    assert {provider for provider, _ in PLACES} == {"aws", "gcp", "azure"}
    assert all(one.name and one.part for one in PLACES.values())
    assert place_of("aws", "mars-1") is None
