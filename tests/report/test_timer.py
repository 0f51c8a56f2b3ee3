"""The unit files of a timer: what they run, and names that systemd would read otherwise."""

import configparser
from pathlib import Path

from cloudcmp.model.timer import Timer
from cloudcmp.report.timer import units


def parsed(text: str) -> configparser.RawConfigParser:
    found = configparser.RawConfigParser()
    found.read_string(text)
    return found


def test_the_service_resumes_the_study_and_the_timer_looks_again() -> None:
    files = units(Timer(Path("/home/a/studies/nightly-1"), "nightly", 900.0), "/usr/bin/cloudcmp")
    assert list(files) == ["cloudcmp-nightly-1.service", "cloudcmp-nightly-1.timer"]
    service, timer = (parsed(text) for text in files.values())
    assert service["Service"]["execstart"] == '"/usr/bin/cloudcmp" run --resume "/home/a/studies/nightly-1" --quiet'
    assert service["Service"]["type"] == "oneshot"
    assert timer["Timer"]["onunitinactivesec"] == "900s"


def test_names_cannot_become_settings_or_specifiers() -> None:
    files = units(Timer(Path('/tmp/50 % "$HOME'), "a\n[Service]\nExecStart=rm", 60.0), "/usr/bin/cloudcmp")
    service = parsed(next(iter(files.values())))
    assert service["Service"]["execstart"] == r'"/usr/bin/cloudcmp" run --resume "/tmp/50 %% \"$$HOME" --quiet'
    assert service["Unit"]["description"] == "cloudcmp continues the study a [Service] ExecStart=rm"
    assert list(files) == ["cloudcmp-50-HOME.service", "cloudcmp-50-HOME.timer"]
