import re
import subprocess

import pytest
from ruamel.yaml import YAML
from tests.provision.conftest import MemoryJournal

from cloudcmp.agent.cloud_config import BYTES_MAX, TTL_S_MAX, cloud_config, host_script
from cloudcmp.agent.host import new_key
from cloudcmp.execute.connections import open_provisioning
from cloudcmp.provider.aws import Ec2Provider
from cloudcmp.provider.time import VirtualTime
from cloudcmp.provision import Ledger

HOST, CLIENT = new_key(), new_key()


@pytest.fixture(scope="module")
def text():
    return cloud_config(HOST, CLIENT.public, 3600.5)


@pytest.fixture(scope="module")
def config(text):
    return YAML(typ="safe", pure=True).load(text)


def test_it_is_a_cloud_config_that_ec2_takes(text):
    assert text.startswith("#cloud-config\n")
    assert len(text.encode()) < BYTES_MAX


def test_the_machine_has_our_host_key_and_no_other(config):
    assert config["ssh_deletekeys"] is True
    assert config["ssh_genkeytypes"] == ["ed25519"]
    assert config["ssh_keys"] == {"ed25519_private": HOST.private, "ed25519_public": HOST.public}


def test_only_we_get_in_and_root_does_one_thing(config):
    assert config["ssh_pwauth"] is False
    assert config["disable_root"] is True
    assert config["allow_public_ssh_keys"] is False
    (user,) = config["users"]
    assert user["name"] == "cloudcmp"
    assert user["lock_passwd"] is True
    assert user["ssh_authorized_keys"] == [CLIENT.public]
    assert user["sudo"] == "ALL=(root) NOPASSWD: /usr/local/sbin/cloudcmp-host"
    assert "groups" not in user
    (file,) = config["write_files"]
    assert file == {
        "path": "/usr/local/sbin/cloudcmp-host",
        "owner": "root:root",
        "permissions": "0755",
        "content": host_script(),
    }


def test_p38_no_private_key_but_the_injected_host_key_is_in_it(text):
    assert text.count("BEGIN OPENSSH PRIVATE KEY") == 1
    assert CLIENT.private not in text
    assert CLIENT.private.splitlines()[3] not in text


def test_the_timer_is_armed_at_every_boot_before_anything_else(text, config):
    (boot,) = config["bootcmd"]
    assert boot[:2] == ["sh", "-c"]
    assert text.index('"bootcmd"') < text.index('"users"')
    assert "3601" in boot[2]
    assert syntax(boot[2]) == ""


@pytest.mark.parametrize("ttl_s", [0, -1, TTL_S_MAX + 1, float("nan"), float("inf")])
def test_a_time_to_live_out_of_range_is_refused(ttl_s):
    with pytest.raises((ValueError, OverflowError)):
        cloud_config(HOST, CLIENT.public, ttl_s)


@pytest.mark.parametrize(
    "client", ["", "ssh-rsa AAAA", CLIENT.public + "\nssh-ed25519 AAAA"], ids=["nothing", "rsa", "two"]
)
def test_a_client_key_that_is_not_one_line_is_refused(client):
    with pytest.raises(ValueError, match="one line"):
        cloud_config(HOST, client, 60)


def syntax(script):
    return subprocess.run(["sh", "-n"], input=script, capture_output=True, text=True, check=False).stderr


def test_the_script_is_one_that_sh_reads():
    assert syntax(host_script()) == ""
    assert "@arm@" not in host_script()
    assert syntax("if") != ""


def as_root(words):
    """The script's answer to words that it refuses; told that it is root, for those come after that question."""
    script = host_script().replace('"$(id -u)" -eq 0', "0 -eq 0")
    return subprocess.run(["sh", "-c", script, "sh", *words], capture_output=True, text=True, check=False, timeout=10)


@pytest.mark.parametrize(
    "words",
    [
        *([], ["rotate", "now"], ["die", "hard"], ["disk"], ["ttl"], ["ttl", "1", "2"], ["disk", "/dev/a", "/dev/b"]),
        *(["forget"], ["arm", "1", "2"], ["fail", "x"], ["--help"], ["rotate;die"]),
    ],
)
def test_other_words_are_refused(words):
    said = as_root(words)
    assert said.returncode == 2
    assert said.stderr.startswith("usage: cloudcmp-host")


@pytest.mark.parametrize(
    "words",
    [["ttl", text] for text in ("", "0", "01", "-1", "1e3", "1 ", "$(id)", "12345678", "9" * 40)]
    + [
        ["disk", text]
        for text in ("", "/etc/passwd", "/dev/../etc/passwd", "/dev/null", "/dev/a b", "/dev/$(id)", "-h")
    ]
    + [["disk", "/dev/is-not-there/at-all"]],
)
def test_odd_arguments_are_refused_before_anything_is_done(words):
    said = as_root(words)
    assert said.returncode == 1
    assert re.fullmatch(r"cloudcmp-host: [^\n]+\n", said.stderr)


def armed(folder, end, most):
    """What `arm` does: the seconds that it asked the timer for, with the commands of a machine played by functions."""
    script = host_script()
    arm = script[script.index("arm() {") : script.index("\nttl() {")].replace("/var/lib/cloudcmp", str(folder))
    fakes = 'systemctl() { :; }\ndate() { echo 1000; }\nsystemd-run() { echo "$@"; }\n'.replace("systemd-run", "run")
    arm = arm.replace("systemd-run", "run")
    said = subprocess.run(
        ["sh", "-eu", "-c", f"{fakes}{arm}\narm {end} {most}"], capture_output=True, text=True, check=True, timeout=10
    )
    assert (folder / "end").read_text() == f"{end}\n"
    return int(re.search(r"--on-active=(\d+) ", said.stdout)[1])


ASKED, TTL_S = 1_000_000, 600
BOOTS = {
    "a minute after the request": ([60], [540]),
    "a clock that is behind a little": ([-60], [600]),
    "a restart": ([60, 300], [540, 300]),
    "a restart after the end": ([60, 700], [540, 1]),
    "made late": ([700], [1]),
    "a clock of 1970": ([-ASKED], [600]),
    "a clock of 1970 that is put right": ([-ASKED, 200], [600, 400]),
    "a clock that is behind and put right": ([-7200, 200, 300], [600, 400, 300]),
    "a clock that is behind and stays so": ([-7200, -7100], [600, 500]),
}


def boots(folder, text, clocks):
    """What each boot's timer is asked for (s); `clocks` are its clock then, from the request on (s)."""
    (boot,) = YAML(typ="safe", pure=True).load(text)["bootcmd"]
    script = boot[2].replace("/var/lib/cloudcmp", str(folder)).replace("systemd-run", "run")
    for since in clocks:
        fakes = f'systemctl() {{ :; }}\ndate() {{ echo {ASKED + since}; }}\nrun() {{ echo "$@"; }}\n'
        said = subprocess.run(["sh", "-c", fakes + script], capture_output=True, text=True, check=True, timeout=10)
        assert said.stderr == ""
        yield int(re.search(r"--on-active=(\d+) ", said.stdout)[1])


@pytest.mark.parametrize("how", BOOTS)
def test_p05_a_machine_ends_its_time_to_live_after_the_request_and_never_later_than_after_its_boot(tmp_path, how):
    clocks, left = BOOTS[how]
    text = cloud_config(HOST, CLIENT.public, TTL_S, ASKED)
    assert list(boots(tmp_path / "var", text, clocks)) == left


def test_p05_where_the_request_has_no_moment_it_counts_from_the_first_boot(tmp_path):
    text = cloud_config(HOST, CLIENT.public, TTL_S)
    assert list(boots(tmp_path / "var", text, [700, 800])) == [600, 500]


def test_p12_every_machine_is_told_when_it_was_asked_for(tmp_path):
    ledger = Ledger(MemoryJournal(), "study-a", VirtualTime(ASKED))
    office = open_provisioning(ledger, [Ec2Provider()])
    text = office.keys.user_data(HOST, CLIENT.public, TTL_S)
    assert list(boots(tmp_path / "var", text, [60])) == [540]


@pytest.mark.parametrize(
    ("end", "most", "left"), [(1600, 600, 600), (1500, 600, 500), (900, 600, 1), (99999, 600, 600), (1000, 600, 1)]
)
def test_what_is_left_counts_from_the_first_boot_and_is_never_more(tmp_path, end, most, left):
    assert armed(tmp_path / "var", end, most) == left


def test_what_is_left_of_the_injected_key_is_taken_out_and_nothing_else(tmp_path, text):
    """The copies as cloud-init keeps them: the text as it came, and written anew by a YAML library."""
    script = host_script()
    sed = script[script.index("sed -i") : script.index(" || rm -f")]
    as_it_came, anew = tmp_path / "user-data.txt", tmp_path / "cloud-config.txt"
    as_it_came.write_text(text)
    with anew.open("w") as file:
        YAML(typ="safe", pure=True).dump(YAML(typ="safe", pure=True).load(text), file)
    secret = HOST.private.splitlines()[2]
    for copy in (as_it_came, anew):
        assert secret in copy.read_text()
        subprocess.run(["sh", "-c", f"file={copy}; {sed}"], check=True, timeout=10)
        left = copy.read_text()
        assert not any(line and line in left for line in HOST.private.splitlines()[1:-1])
        assert "cloudcmp-ttl" in left
        assert "usage: cloudcmp-host" in left
    assert YAML(typ="safe", pure=True).load(as_it_came.read_text())["ssh_keys"] == {"ed25519_public": HOST.public}
