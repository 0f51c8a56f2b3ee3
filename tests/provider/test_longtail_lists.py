"""Lists of the long tail: whole over all their pages, or an error that says that they are not."""

import asyncio

import pytest
from tests.emulated.longtail import Faults, Wall
from tests.emulated.longtail_requests import PLACES, firewall, instance, launched, provider, request

from cloudcmp.errors import IncompleteListing
from cloudcmp.model.lease import FIREWALL, INSTANCE

run = asyncio.run


@pytest.fixture
def cloud(tail):
    """Each emulated cloud in turn."""
    return tail


def test_p06_all_pages_are_read(cloud):
    cloud.faults = Faults(page=2)
    driver = provider(cloud.name)
    for number in range(5):
        run(launched(cloud.name, driver, f"t-{number}"))
    found = run(driver.find("study-a"))
    kinds = [one.kind for one in found]
    assert (kinds.count(INSTANCE), kinds.count(FIREWALL)) == (5, 5)
    assert len(run(provider(cloud.name).leftovers()).found) == 10
    assert len(driver.offerings(PLACES[cloud.name][0])) >= 3


def test_p07_pages_that_are_cut_short_are_noticed(cloud):
    driver = provider(cloud.name)
    for number in range(3):
        run(driver.create(request(cloud.name, token=f"t-{number}")))
    cloud.faults = Faults(page=2)
    cloud.inject("machines.list", "cut")
    with pytest.raises(IncompleteListing, match=r"gave \d+ entries of 3"):
        run(driver.find("study-a"))
    cloud.inject("machines.list", "cut")
    assert len(run(provider(cloud.name, attempts=2).find("study-a"))) == 3


def test_p06_what_is_not_ours_is_never_listed(cloud):
    region = PLACES[cloud.name][0]
    decoys = ((), ("cloudcmp",), ("cloudcmp-study-a",), ("study-a", "env:prod"), ("cloudcmp:study_study-a",))
    for number, words in enumerate(decoys):
        cloud.lives.begin(cloud.new_id(), f"cloudcmp-study-a-{number}", region, cloud.row.smallest[1], words)
        id = cloud.new_id()
        cloud.walls[id] = Wall(id, f"cloudcmp-study-a-{number}", words, 0.0)
    driver = provider(cloud.name)
    wall, machine = run(launched(cloud.name, driver))
    assert {one.cloud_id for one in run(driver.find("study-a"))} == {wall, machine}
    assert {one.cloud_id for one in run(driver.leftovers()).found} == {wall, machine}
    assert run(driver.find("study")) == ()


def test_what_was_made_is_found_in_its_region_only(cloud):
    driver = provider(cloud.name)
    wall, machine = run(launched(cloud.name, driver))
    region = PLACES[cloud.name][0]
    handles = {one.handle() for one in run(driver.find("study-a", region=region))}
    assert handles == {firewall(cloud.name, wall), instance(cloud.name, machine)}
    assert run(driver.find("study-a", region="elsewhere")) == ()


def test_p07_a_record_that_somebody_changed_is_not_ours_any_more(cloud):
    driver = provider(cloud.name)
    machine = run(driver.create(request(cloud.name)))
    one = cloud.lives.all[machine]
    one.words = tuple(word[:-1] for word in one.words)
    found = run(driver.find("study-a", "token-1"))
    assert found == () or found[0].token != "token-1"


def test_a_long_study_keeps_its_tags_whole(cloud):
    study = "Größe-" + "x" * 60
    request_of = request(cloud.name, study=study, name="cloudcmp-long")
    driver = provider(cloud.name)
    run(driver.create(request_of))
    (found,) = run(driver.find(study))
    assert (found.tags, found.token, found.name) == (tuple(sorted(request_of.tags)), "token-1", "cloudcmp-long")
    assert run(driver.find(study.lower())) == ()
