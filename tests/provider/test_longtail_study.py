"""A whole study at the emulated clouds of the long tail, as a user runs it: real SSH, the real agent, a report."""

import contextlib

import pytest
from tests.emulated.boot import ssh_boot
from tests.emulated.digitalocean import digitalocean
from tests.emulated.longtail import Faults
from tests.emulated.tail import NAMES, emulated
from tests.needs import needs_machines
from tests.provider.study_runs import cloudcmp, killed, study, whole
from tests.slices import long

from cloudcmp.provider.longtail import CLOUDS

pytestmark = [needs_machines, pytest.mark.usefixtures("agent")]

_LINE = "  - {{provider: {0}, region: {1.region}, offering: {1.offering}, allow: 127.0.0.1/32}}\n"
_ONE = study(_LINE.format("digitalocean", emulated("digitalocean")))
# A study has one currency: the clouds that bill in the same one are compared in one.
CURRENCIES = {
    currency: [name for name in NAMES if CLOUDS[name].currency == currency]
    for currency in sorted({cloud.currency for cloud in CLOUDS.values()})
}


@long
@pytest.mark.parametrize("currency", CURRENCIES)
def test_a_study_runs_from_launch_to_report_while_answers_are_lost(currency, tmp_path):
    names = CURRENCIES[currency]
    text = study("".join(_LINE.format(name, emulated(name)) for name in names), currency)
    with contextlib.ExitStack() as stack:
        faults = Faults(pending_s=0.1, read_lag_s=0.1)
        clouds = [stack.enter_context(emulated(name).make(faults, boot=ssh_boot(tmp_path / name))) for name in names]
        for cloud in clouds:
            cloud.inject("machines.create", "lost", first=2)  # the first is empty: the look before a study
            cloud.inject("machines.delete", "error:500", first=2)
        said = whole(clouds, tmp_path, text, names[-1])
        for cloud in clouds:
            assert [call.outcome for call in cloud.calls("machines.create") if "body" in call.params] == [
                f"lost after {emulated(cloud.name).made}"
            ]
            assert cloud.token not in said


def test_the_plan_says_that_what_powers_itself_off_stays_billed(tmp_path):
    (tmp_path / "study.yaml").write_text(_ONE)
    with digitalocean() as cloud:
        planned = cloudcmp([cloud], tmp_path, "plan", "study.yaml")
        text = " ".join(planned.out.split())
        assert planned.code == 0, text
        assert "billed as if it ran" in text
        assert "0.00893" in text
        assert "0.01 USD, the least that each machine is billed" in text


@pytest.mark.parametrize("point", ["cloud.after_create:2"])
def test_p01_a_controller_killed_leaves_nothing_after_cleanup(point, tmp_path):
    assert killed(point, tmp_path, _ONE, digitalocean, "fra1") == []


def test_p06_a_sweep_from_an_empty_home_finds_what_a_killed_controller_left(tmp_path):
    (tmp_path / "study.yaml").write_text(_ONE)
    with digitalocean(boot=ssh_boot(tmp_path / "machines")) as cloud:
        ran = cloudcmp([cloud], tmp_path, "run", "study.yaml", "--out", "out", CLOUDCMP_CRASH_AT="cloud.after_create:2")
        assert ran.code == -9, ran.out + ran.err
        (tmp_path / "home").mkdir()
        listed = cloudcmp([cloud], tmp_path / "home", "sweep", "digitalocean", "--json")
        assert all(thing.id in listed.out for thing in cloud.alive() if thing.kind != "tag"), listed.out
