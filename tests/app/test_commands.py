"""Commands of the user's own, from a study file to its report, with the real agent on this machine."""

import gzip
import json
import shutil
import sqlite3
import subprocess

import pytest

from cloudcmp.errors import CorruptStore, UserMistake
from cloudcmp.store import StudyStore
from cloudcmp.study import read
from tests.cli.command import cloudcmp

HEAD = """schema: 1
question: "What does my own program cost?"
candidates: [{provider: local, region: local, offering: 1cpu, price: 0.05 USD/h}]
launches: 1
runs: 2
probes:
"""


def ran(folder, entries, *words):
    (folder / "own.yaml").write_text(HEAD + entries)
    said = cloudcmp("run", "own.yaml", "--out", "out", "--yes", *words, cwd=folder)
    assert said.code == 0, said.err
    return said


def attempts(folder):
    with sqlite3.connect(folder / "out" / "study.db") as base:
        return base.execute("SELECT outcome, why, facts FROM attempt ORDER BY trial, attempt").fetchall()


def test_a_commands_time_its_own_metrics_and_its_cost_reach_the_report(tmp_path):
    ran(
        tmp_path,
        """  - command:
      name: count
      setup: echo 'for i in 1 2 3; do echo $i; done; rate=12.5; echo "speed=$rate (x1000)"' > count.sh
      run: sh $CLOUDCMP_FILES/count.sh
      check: grep -qx 3 $CLOUDCMP_OUTPUT
      expected: 1 s
      metrics: [{name: counted_lines_per_s, unit: lines/s, better: higher, regex: 'speed=(\\S+)', scale: 1000}]
decide: [counted_lines_per_s, command_time_s command=count]
""",
    )
    data = cloudcmp("compare", "out", "--json", cwd=tmp_path).json["data"]
    found = {one["cell"]: one for one in data["estimates"]}
    assert set(found) == {"command_time_s command=count", "counted_lines_per_s command=count"}
    assert found["counted_lines_per_s command=count"]["values"] == [12500.0]
    time = found["command_time_s command=count"]
    assert time["n_ok"] == time["n_started"] == 2
    assert 0 < time["values"][0] < 1
    assert time["cost_per_task"] is not None
    report = (tmp_path / "out" / "report.html").read_text()
    assert "lines/s" in report
    assert "speed=12.5" not in report, "what a command prints stays in the study's folder"
    assert "grep -qx 3 $CLOUDCMP_OUTPUT" in report, "what ran is told"
    assert [line["kind"] for line in data["commands"][0]["lines"]] == ["setup", "run", "check"]
    exported = cloudcmp("export", "out", cwd=tmp_path).out
    assert "counted_lines_per_s" in exported
    assert "speed=12.5" not in exported
    kept = [json.loads(facts)["output"] for _, _, facts in attempts(tmp_path)]
    text = json.loads(gzip.decompress((tmp_path / "out" / kept[0]["file"]).read_bytes()))
    assert text["stdout"].endswith("speed=12.5 (x1000)\n")


UNSURE = [
    ("run: 'echo x >&2; exit 3'", "failed", "run ended with exit 3: x"),
    ("run: no-such-program", "failed", "exit 127"),
    ("run: 'true', check: 'false'", "invalid", "check ended with exit 1"),
    ("run: sleep 9, limit: 200 ms", "timeout", "run did not end within its limit"),
    ("run: echo t=1; echo t=2, metrics: [METRIC]", "invalid", "a_s: the output says 1 and 2"),
    ("run: 'yes | head -c 2000000; echo t=1', metrics: [METRIC]", "invalid", "longer than 1 MiB and was cut"),
    ("run: \"printf '\\\\377t=1'\", metrics: [METRIC]", "invalid", "not UTF-8"),
]


def test_a_trial_that_is_not_sure_gives_no_value(tmp_path):
    metric = "{name: a_s, unit: s, better: lower, regex: 't=(.)'}"
    entries = [
        f"  - {{command: {{name: c{number}, expected: 1 s, {fields.replace('METRIC', metric)}}}, runs: 1}}\n"
        for number, (fields, _, _) in enumerate(UNSURE)
    ]
    ran(tmp_path, "".join(entries))
    with StudyStore.open(tmp_path / "out", write=False) as store:
        found = {dict(store.plan.trials[one.trial].params)["command"]: one for one in store.attempts()}
    for number, (_, outcome, says) in enumerate(UNSURE):
        assert found[f"c{number}"].outcome == outcome, found[f"c{number}"]
        assert says in found[f"c{number}"].why
    assert not list((tmp_path / "out" / "samples").iterdir())


def test_an_output_that_was_changed_is_told(tmp_path):
    ran(tmp_path, "  - {command: {name: mine, expected: 1 s, run: echo 42}, runs: 1}\n")
    (file,) = (tmp_path / "out" / "outputs").iterdir()
    file.write_bytes(gzip.compress(b'{"stdout": "43\\n"}'))
    with StudyStore.open(tmp_path / "out", write=False) as store, pytest.raises(CorruptStore, match="trial 0"):
        store.verify()


def test_a_simulated_study_answers_commands_with_their_own_metrics(tmp_path):
    ran(
        tmp_path,
        """  - command:
      name: mine
      run: exit 1
      metrics: [{name: frames_per_s, unit: frames/s, better: higher, regex: 'fps=([0-9.]+)'}]
decide: [frames_per_s]
""",
        "--on",
        "simulated",
    )
    data = cloudcmp("compare", "out", "--json", cwd=tmp_path).json["data"]
    assert {one["cell"] for one in data["estimates"]} == {"command_time_s command=mine", "frames_per_s command=mine"}
    assert not (tmp_path / "out" / "outputs").exists()


def test_a_tools_figures_are_read_with_its_version(tmp_path):
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed here")
    entry = "{tool: fio, params: {rw: randread, size_bytes: 1 MiB, direct: false, ioengine: psync, duration_s: 0.2}}"
    ran(tmp_path, f"  - {entry}\n", "--short")
    ((outcome, why, facts),) = attempts(tmp_path)
    assert (outcome, why) == ("ok", "")
    assert json.loads(facts)["notes"]["tool_version"].startswith("fio-")
    cells = {one["cell"] for one in cloudcmp("compare", "out", "--json", cwd=tmp_path).json["data"]["estimates"]}
    assert any(cell.startswith("tool_op_per_s measure=read_iops;settings=") for cell in cells)
    assert not any(cell.startswith("command_time_s") for cell in cells)


def test_a_tool_that_is_not_there_fails_and_is_not_installed_unasked(tmp_path):
    absent = next((name for name in ("wrk", "postmark", "dbench", "hpcc") if shutil.which(name) is None), None)
    if absent is None:
        pytest.skip("every tool of the table is installed here")
    ran(tmp_path, f"  - {{tool: {absent}, runs: 1}}\n")
    ((outcome, why, _),) = attempts(tmp_path)
    assert outcome == "failed"
    assert why == f"{absent} is not installed; write install: true, or install {absent}"


FILES = """  - command: {name: mine, run: sh $CLOUDCMP_FILES/bin/mine, files: [bin/mine, data], expected: 1 s}
"""


def test_files_of_the_study_are_on_the_machine_and_executable(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mine").write_text('cd "$CLOUDCMP_FILES"; test -x bin/mine && cat data; echo changed > data\n')
    (tmp_path / "data").write_text("of the user\n")
    ran(tmp_path, FILES)
    assert [outcome for outcome, _, _ in attempts(tmp_path)] == ["ok", "ok"]
    texts = [json.loads(gzip.decompress(file.read_bytes())) for file in sorted((tmp_path / "out/outputs").iterdir())]
    assert texts[0]["stdout"] == "of the user\n"
    assert (tmp_path / "data").read_text() == "of the user\n", "a command has copies, not the user's own"


def test_a_file_that_was_changed_since_is_told_on_resume(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mine").write_text("true\n")
    (tmp_path / "data").write_text("x")
    ran(tmp_path, FILES)
    (tmp_path / "data").write_text("y")
    said = cloudcmp("run", "--resume", "out", cwd=tmp_path)
    assert said.code == 2
    assert "it was changed since the study was planned" in said.err
    (tmp_path / "data").unlink()
    assert "no such file" in cloudcmp("run", "--resume", "out", cwd=tmp_path).err


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("/etc/passwd", "is not within the study's folder"),
        ("../other", "is not within the study's folder"),
        ("link", "leads out of the study's folder"),
        ("absent", "no such file"),
        (".", "is not within the study's folder"),
        ("folder", "is not a file"),
        ("[]", "is not a file's name"),
    ],
)
def test_only_files_within_the_studys_folder_are_taken(tmp_path, name, says):
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "folder").mkdir()
    (tmp_path / "own.yaml").write_text(HEAD + f"  - command: {{name: mine, run: x, files: [{name}]}}\n")
    with pytest.raises(UserMistake, match=says) as refused:
        read(tmp_path / "own.yaml", providers=["local"])
    assert "own.yaml:7:" in str(refused.value)


def test_a_plan_shows_the_lines_that_run_and_where(tmp_path):
    (tmp_path / "own.yaml").write_text(HEAD + "  - {command: {name: mine, run: echo what runs}}\n  - {tool: fio}\n")
    said = cloudcmp("plan", "own.yaml", cwd=tmp_path)
    assert "echo what runs" in said.out
    assert "this study runs commands on this machine, as you: fio, mine" in " ".join(said.out.split())
    told = cloudcmp("plan", "own.yaml", "--json", cwd=tmp_path).json["data"]["commands"]
    line = {"kind": "run", "text": "echo what runs"}
    mine = {"name": "mine", "run": line["text"], "lines": [line], "files": [], "on": ["local/local/1cpu"], "free": True}
    assert mine in told
    assert [one["free"] for one in told if one["name"] == "fio"] == [False]
    checked = " ".join(cloudcmp("check", "own.yaml", cwd=tmp_path).out.split())
    assert "it can be run; this study runs commands on this machine" in checked


def test_an_image_is_loaded_on_the_machine_and_run_or_the_trial_says_why_not(tmp_path):
    busybox = shutil.which("busybox")
    if shutil.which("podman") is None or busybox is None:
        pytest.skip("podman or a static busybox is not installed here")
    name = f"localhost/cloudcmp-{tmp_path.name.replace('_', '-')}:1"
    root = tmp_path / "root"
    for folder in ("bin", "work", "files", "tmp"):
        (root / folder).mkdir(parents=True)
    shutil.copy(busybox, root / "bin" / "sh")
    steps = [
        ["tar", "-C", root, "-cf", tmp_path / "layer.tar", "."],
        ["podman", "import", "-q", tmp_path / "layer.tar", name],
        ["podman", "save", "-q", "--format", "oci-archive", "-o", tmp_path / "mine.tar", name],
        ["podman", "rmi", name],
    ]
    for step in steps:
        done = subprocess.run([*map(str, step)], capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            pytest.skip(f"no image can be made here: {done.stderr.strip()[-150:]}")
    entry = "{name: mine, image: mine.tar, run: 'echo in $PWD > out; echo done', check: grep -qx 'in /work' out}"
    try:
        ran(tmp_path, f"  - {{command: {entry}, runs: 1}}\n")
        loaded = subprocess.run(["podman", "image", "exists", name], check=False, timeout=60).returncode == 0
    finally:
        subprocess.run(["podman", "rmi", "-f", name], capture_output=True, check=False, timeout=60)
    ((outcome, why, facts),) = attempts(tmp_path)
    assert loaded
    assert json.loads(facts)["notes"]["container_engine"] == "podman"
    if outcome != "ok":
        # Some machines load images and run none: then that is what the trial says.
        assert outcome == "failed"
        assert why.startswith("run ended with exit 12")
        pytest.skip(f"podman runs no container here: {why}")
