"""How well `predict` does where the truth is known: error, coverage of its intervals, and the best in its short list.

simulated   clouds and applications that are drawn: planted demands, and noise that no demand explains
clouds      public measurements of real clouds (Spare Cores): an application's score predicted from micro-benchmarks
here        real programs on the CPU sets of this machine, each set predicted from the other
study DIR   each finishing time of a study, predicted on each candidate from the others that ran it

Each cloud that did not run the application is predicted. Errors are |predicted / true - 1|. `short` is how often the
best of all clouds is among the first three, `regret` by how much the first one is slower than the best, tau Kendall's.

usage: .venv/bin/python benchmarks/prediction.py simulated|clouds|here|study [DIR] [--seed 1] [--sets 240]
"""

import argparse
import csv
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from drawn_programs import CLOUDS, drawn, numbers
from numpy.typing import NDArray

from cloudcmp.answer.prediction.predict import predict
from cloudcmp.app.predict import application_of
from cloudcmp.app.profile import profile, write
from cloudcmp.app.recommend import sold
from cloudcmp.errors import UserMistake
from cloudcmp.model.application import Application, ApplicationKind, Demand, Part, Ran, Way
from cloudcmp.model.demands import Counter
from cloudcmp.model.market import Market, Numbers, OfferKey
from cloudcmp.model.metric import Better
from cloudcmp.model.prediction import Aim, Prediction

Floats = NDArray[np.float64]
RAN = (1, 2, 3, 4, 6)


@dataclass
class Score:
    """What was seen of some predictions."""

    errors: list[float] = field(default_factory=list)
    covered: list[bool] = field(default_factory=list)
    short: list[bool] = field(default_factory=list)
    regret: list[float] = field(default_factory=list)
    tau: list[float] = field(default_factory=list)

    def add(self, found: Prediction, keys: Sequence[OfferKey], truth: Floats) -> None:
        """Count one prediction; clouds that ran the application count for the short list alone."""
        true = dict(zip(keys, truth.tolist(), strict=True))
        for one in found.candidates:
            if one.ran_s is not None:
                continue
            self.errors.append(abs(one.time_s / true[one.key] - 1))
            if one.interval is not None:
                self.covered.append(one.interval.low <= true[one.key] <= one.interval.high)
        best = min((one.key for one in found.candidates), key=lambda key: true[key])
        self.short.append(best in {one.key for one in found.short_list})
        self.regret.append(true[found.candidates[0].key] / true[best] - 1)
        times = np.array([one.time_s for one in found.candidates])
        actual = np.array([true[one.key] for one in found.candidates])
        signs = np.sign(np.subtract.outer(times, times) * np.subtract.outer(actual, actual))
        self.tau.append(float(signs.sum() / (len(times) * (len(times) - 1))))


HEAD = f"{'':28} {'ran':>3} {'n':>6} {'mean':>7} {'median':>7} {'cover':>7} {'short':>7} {'regret':>7} {'tau':>6}"


def line(name: str, ran: int, score: Score) -> str:
    """One line of the table."""
    cover = f"{np.mean(score.covered) * 100:6.1f}%" if score.covered else f"{'-':>7}"
    return (f"{name:28} {ran:3} {len(score.errors):6} {np.mean(score.errors) * 100:6.1f}% "
            f"{np.median(score.errors) * 100:6.1f}% {cover} {np.mean(score.short) * 100:6.1f}% "
            f"{np.mean(score.regret) * 100:6.1f}% {np.mean(score.tau):6.2f}")  # fmt: skip


def simulated(seed: int, sets: int) -> Iterator[str]:
    """Predict drawn programs from their profile at home, and from one to five further clouds that ran them."""
    scores = {ran: Score() for ran in RAN}
    for at in range(sets):
        rng = np.random.default_rng([seed, at])
        planted = drawn(rng)
        for application, truth in zip(planted.applications, planted.truth, strict=True):
            order = [0, *(1 + rng.permutation(CLOUDS - 1)).tolist()]
            for ran, score in scores.items():
                some = tuple(Ran(planted.market.keys[row], float(truth[row])) for row in order[1:ran])
                score.add(predict(replace(application, ran=some), planted.market, Aim.TIME), planted.market.keys, truth)
    yield f"{sets} drawn sets of {CLOUDS} clouds x 4 programs, seed {seed}"
    yield HEAD
    for ran, score in scores.items():
        yield line("program", ran, score)


# Spare Cores: scores that are of whole applications, some of micro-benchmarks, and all scores by their tool.
APPLICATIONS = ("gb_multi_clang", "gb_multi_text_processing", "gb_multi_pdf_renderer", "gb_multi_html5_browser",
                "zstd_first_compress_Bps_best", "redis_set_rps_best", "static_web_1k_rps_best")  # fmt: skip
MICRO = ("passmark_cpu_compression", "passmark_cpu_integer_math", "passmark_cpu_singlethread", "stressng_1",
         "stressng_best_n", "openssl_sha256_16k_Bps", "bw_mem_rd_16mb", "bw_mem_rd_512mb")  # fmt: skip
TOOLS = {"gb": "geekbench", "geekbench": "geekbench", "passmark": "passmark", "stressng": "stress-ng",
         "openssl": "openssl", "bw": "bw_mem", "gzip5": "gzip", "zstd": "zstd", "redis": "redis",
         "static": "web server"}  # fmt: skip
LOWER = {"passmark_me_latency"}
VENDORS = {"aws", "azure", "gcp", "alicloud", "ovh", "hcloud", "upcloud", "vultr"}


SIZES = (2, 4, 8, 16)


def _read(data: Path) -> tuple[list[OfferKey], dict[str, Floats], Floats]:
    """Types of 2, 4, 8 or 16 CPUs for which every score is known, their scores, and their CPUs."""
    with (data / "sparecores" / "benchmarks_by_instance.csv").open(encoding="utf-8") as file:
        table = csv.DictReader(file)
        names = [one for one in table.fieldnames or () if _tool(one) and not one.endswith("_date")]
        rows = [one for one in table if one["vendor"] in VENDORS and all(_number(one[name]) > 0 for name in names)]
    rows = [one for one in rows if _number(one["lscpu_cpus"]) in SIZES]
    keys = [OfferKey(one["vendor"], "", one["instance_type"]) for one in rows]
    cpus = np.array([_number(one["lscpu_cpus"]) for one in rows])
    return keys, {name: np.array([_number(one[name]) for one in rows]) for name in names}, cpus


def _tool(name: str) -> str:
    return TOOLS.get(name.partition("_")[0], "")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def clouds(seed: int, sets: int, data: Path) -> Iterator[str]:
    """Predict scores of real machines; ten types are drawn for each set, of which some ran the application.

    They follow eight micro-benchmarks, or all scores but those of the application's own tool.
    """
    keys, values, cpus = _read(data)
    sizes = ", ".join(map(str, SIZES))
    yield f"{sets} sets of {CLOUDS} of {len(keys)} types of {sizes} CPUs, one score each, seed {seed}"
    for size_words, alike in (("one size in a set", True), ("any size in a set", False)):
        for words, chosen in (("eight micro-benchmarks", lambda _: MICRO),
                              ("all scores of other tools", lambda own: _of_other_tools(values, own))):  # fmt: skip
            yield f"types of {size_words}, by {words}"
            yield HEAD
            total = {ran: Score() for ran in RAN[1:]}
            for name in APPLICATIONS:
                for ran in RAN[1:]:
                    score = Score()
                    for at in range(sets):
                        rng = np.random.default_rng([seed, at])
                        size = rng.choice(SIZES)
                        of = np.flatnonzero(cpus == size) if alike else np.arange(len(keys))
                        rows = rng.choice(of, CLOUDS, replace=False)
                        some = {key: one[rows] for key, one in values.items()}
                        _one_set(
                            score, total[ran], [keys[row] for row in rows], some, cpus[rows], name, ran, chosen(name)
                        )
                    yield line(name, ran, score)
            for ran, score in total.items():
                yield line("all", ran, score)


def _of_other_tools(names: Iterable[str], own: str) -> tuple[str, ...]:
    return tuple(one for one in names if _tool(one) != _tool(own))


def _one_set(
    score: Score, total: Score, keys: Sequence[OfferKey], values: dict[str, Floats], cpus: Floats, name: str, ran: int,
    benchmarks: tuple[str, ...],
) -> None:  # fmt: skip
    columns = {one: numbers(one, values[one], "", Better.LOWER if one in LOWER else Better.HIGHER)
               for one in benchmarks}  # fmt: skip
    truth = 1e4 / values[name]
    application = Application(
        name, ApplicationKind.PROGRAM, (Part(name, (Demand("cpu", Way.CPU, 1.0),)),), benchmarks=benchmarks,
        ran=tuple(Ran(key, float(time)) for key, time in zip(keys[:ran], truth, strict=False)),
    )  # fmt: skip
    found = predict(application, Market(tuple(keys), {**columns, "vcpus": Numbers("vcpus", cpus)}), Aim.TIME)
    score.add(found, keys, truth)
    total.add(found, keys, truth)


def study(folder: str) -> Iterator[str]:
    """Predict each finishing time of a study in turn, from other probes; one candidate is left out."""
    market = sold([folder])
    speeds = [name for name, one in market.columns.items() if isinstance(one, Numbers) and one.is_measured
              and (one.unit.endswith("/s") or _is_time(name))]  # fmt: skip
    yield HEAD
    total = Score()
    for name, column in market.columns.items():
        if not isinstance(column, Numbers) or not _is_time(name):
            continue
        score = Score()
        probe = name.partition("_")[0]
        others = tuple(one for one in speeds if one.partition("_")[0] != probe)  # a rate is a time again
        for out in range(len(market.keys)):
            times = zip(market.keys, column.value.tolist(), strict=True)
            ran = tuple(Ran(key, time) for row, (key, time) in enumerate(times) if row != out)
            part = Part(name, (Demand("cpu", Way.CPU, 1.0),))
            application = Application(name, ApplicationKind.PROGRAM, (part,), benchmarks=others, ran=ran)
            found = predict(application, market, Aim.TIME)
            score.add(found, market.keys, column.value)
            total.add(found, market.keys, column.value)
        yield line(name.replace("task_time_s size=small;", "")[:28], len(market.keys) - 1, score)
    yield line("all", len(market.keys) - 1, total)


def _is_time(name: str) -> bool:
    return name.partition(" ")[0].endswith("_time_s")


PROGRAMS: dict[str, tuple[str, str]] = {
    "xz": ("text", "xz -T2 --block-size=1MiB -6 -k -c text > /dev/null"),
    "zstd": ("text", "zstd -q -T2 -12 -k -c text > /dev/null"),
    "zlib": ("text", 'python3 -c \'import zlib; zlib.compress(open("text","rb").read(), 9)\''),
    "sqlite": ("rows.sql", "rm -f base; sqlite3 base < rows.sql"),
    "compile": ("source.c", "gcc -O2 -c source.c -o 1.o & gcc -O2 -c source.c -o 2.o & wait"),
    "sort": ("text", "sort --parallel=2 -S 32M text > sorted"),
}
STUDY = """schema: 1
name: here
question: How fast are the sizes of this machine?
candidates:
  - {provider: local, offering: 1cpu}
  - {provider: local, offering: 2cpu}
probes:
  - {probe: task, params: {task: [compress, hash, serialise], threads: [one, all], size: small}}
  - {probe: int, params: {threads: [one, all]}}
  - {probe: stream, params: {threads: [one, all]}}
launches: 6
runs: 1
"""


def _inputs(folder: Path, rng: np.random.Generator) -> None:
    words = [bytes(rng.integers(97, 123, size).tolist()).decode() for size in rng.integers(3, 10, 4000)]
    text = "\n".join(" ".join(words[at] for at in rng.zipf(1.3, 9) % 4000) for _ in range(90_000))
    (folder / "text").write_text(text, encoding="ascii")
    rows = "".join(f"INSERT INTO t VALUES({at},'{words[at % 4000]}',{at * 7919 % 99991});\n" for at in range(120_000))
    create = "CREATE TABLE t(a INTEGER PRIMARY KEY,b TEXT,c INTEGER);\nBEGIN;\n"
    (folder / "rows.sql").write_text(f"{create}{rows}COMMIT;CREATE INDEX i ON t(b,c);\n", encoding="ascii")
    body = "double y = 0; for (int i = 0; i < 99; i++) y += x * i / (y + 0.5); return y;"
    lines = (f"double f{at}(double x) {{ x += {at}; {body} }}" for at in range(400))
    (folder / "source.c").write_text("\n".join(lines), encoding="ascii")


def here(seed: int, runs: int) -> Iterator[str]:
    """Profile programs on one and on two CPUs, and predict each set from the other's profile.

    The true time is that of the program's own counters there, because other work on this machine lengthens what passes.
    """
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise UserMistake.at("here", "this machine has one CPU", "take one with two or more")
    with tempfile.TemporaryDirectory(prefix="cloudcmp-") as text:
        folder = Path(text)
        _inputs(folder, np.random.default_rng(seed))
        (folder / "here.yaml").write_text(STUDY, encoding="utf-8")
        subprocess.run(
            [Path(sys.executable).with_name("cloudcmp"), "run", "here.yaml", "--out", "study", "--quiet"],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        market = sold([str(folder / "study")])
        yield f"real programs on {len(cpus)} CPUs, {runs} runs of each, seed {seed}; load {os.getloadavg()[0]:.1f}"
        yield (f"{'program':10} {'on':5} {'true s':>7} {'predicted':>9} {'error':>7} {'bounds':>15} {'held':>5} "
               f"{'elapsed':>8}")  # fmt: skip
        errors, held = [], []
        for name, (_, shell) in PROGRAMS.items():
            found = {count: _profiled(folder, name, shell, cpus[:count], runs) for count in (1, 2)}
            for count, other in ((1, 2), (2, 1)):
                _, true, elapsed = found[count]
                one = next(one for one in predict(found[other][0], market, Aim.TIME).candidates
                           if one.key.name == f"{count}cpu")  # fmt: skip
                errors.append(abs(one.time_s / true - 1))
                held.append(one.overlapped_s <= true <= one.serial_s)
                bounds = f"{one.overlapped_s:.2f}-{one.serial_s:.2f}"
                yield (f"{name:10} {count}cpu  {true:7.2f} {one.time_s:9.2f} {(one.time_s / true - 1) * 100:+6.1f}% "
                       f"{bounds:>15} {'yes' if held[-1] else 'no':>5} {elapsed:8.2f}")  # fmt: skip
        yield f"mean error {np.mean(errors) * 100:.1f} %, the bounds held {sum(held)} of {len(held)}"


def _profiled(folder: Path, name: str, shell: str, cpus: Sequence[int], runs: int) -> tuple[Application, float, float]:
    """The application as profiled on a CPU set, its time by its own counters, and the time that passed."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        found = profile(["sh", "-c", f"cd {folder} && {{ {shell}; }}"], runs=runs, name=name)
    finally:
        os.sched_setaffinity(0, before)
    write(found, folder / f"{name}.yaml")
    cpu = (found.mean(Counter.USER) or 0.0) + (found.mean(Counter.SYSTEM) or 0.0)
    alone = sum(share / min(many, len(cpus)) for many, share in found.parallel) * cpu
    true = alone + (found.mean(Counter.BLOCKED) or 0.0)
    elapsed = found.mean(Counter.ELAPSED) or math.nan
    return application_of(folder / f"{name}.yaml"), min(true, elapsed), elapsed


def main() -> int:
    """Print the table of one part."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=("simulated", "clouds", "here", "study"))
    parser.add_argument("folder", nargs="?", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sets", type=int, default=240)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CLOUDCMP_DATA", "")))
    asked = parser.parse_args()
    parts: dict[str, Callable[[], Iterator[str]]] = {
        "simulated": lambda: simulated(asked.seed, asked.sets),
        "clouds": lambda: clouds(asked.seed, asked.sets, asked.data),
        "here": lambda: here(asked.seed, asked.runs),
        "study": lambda: study(asked.folder),
    }
    try:
        for text in parts[asked.part]():
            print(text, flush=True)
    except (UserMistake, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
