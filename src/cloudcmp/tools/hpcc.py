"""HPC Challenge 1.5: HPL, DGEMM, STREAM, PTRANS, RandomAccess, FFT, and latency and bandwidth of messages."""

from cloudcmp.model.tool import Reader, Report, Settings, Tool, UnclearOutput
from cloudcmp.tools.base import BYTES, FLOPS, LATENCY, RATE, at_once, count, measures, processors, reading
from cloudcmp.tools.page import Page, above_zero, begins, follows, number

# The summary's name, our name, metric and the size of one of its units. The summary names the units itself: Tflops,
# Gflops, GBs and GBytes (10^9 bytes), GUPs (10^9 updates a second), usec.
_READ = (
    ("HPL_Tflops", "hpl", FLOPS, 1e12),
    ("StarDGEMM_Gflops", "dgemm_star", FLOPS, 1e9),
    ("SingleDGEMM_Gflops", "dgemm_single", FLOPS, 1e9),
    ("PTRANS_GBs", "ptrans", BYTES, 1e9),
    ("MPIRandomAccess_GUPs", "random_access_mpi", RATE, 1e9),
    ("StarRandomAccess_GUPs", "random_access_star", RATE, 1e9),
    ("StarSTREAM_Copy", "stream_copy_star", BYTES, 1e9),
    ("StarSTREAM_Scale", "stream_scale_star", BYTES, 1e9),
    ("StarSTREAM_Add", "stream_add_star", BYTES, 1e9),
    ("StarSTREAM_Triad", "stream_triad_star", BYTES, 1e9),
    ("SingleSTREAM_Triad", "stream_triad_single", BYTES, 1e9),
    ("StarFFT_Gflops", "fft_star", FLOPS, 1e9),
    ("MPIFFT_Gflops", "fft_mpi", FLOPS, 1e9),
)
_MESSAGES = (
    ("AvgPingPongLatency_usec", "pingpong_latency", LATENCY, 1e-6),
    ("AvgPingPongBandwidth_GBytes", "pingpong_bandwidth", BYTES, 1e9),
)
"""Figures of messages; a run with one process has none."""


def _reports(text: str) -> tuple[Report, ...]:
    page = Page(text)
    page.one(r"Begin of Summary section\.", "where the summary begins")
    page.one(r"End of Summary section\.", "where the summary ends")
    for place, match in page.all(r"\s*(\d+) tests completed and failed residual checks[.,]"):
        if int(match[1][:9]):
            raise UnclearOutput(f"{place}: {match[1][:9]} tests failed their residual checks")
    first, last = page.lines.index("Begin of Summary section."), page.lines.index("End of Summary section.")
    entries: dict[str, tuple[str, str]] = {}
    for i in range(first + 1, last):
        key, equals, value = page.lines[i].partition("=")
        if equals and key in entries:
            raise UnclearOutput(f"{page.place(i)}: {key[:40]} is told again, first on {entries[key][0]}")
        entries[key] = (page.place(i), value)
    return (_report(entries),)


def _entry(entries: dict[str, tuple[str, str]], key: str) -> tuple[str, str]:
    if key not in entries:
        raise UnclearOutput(f"the summary does not tell {key}")
    return entries[key]


def _report(entries: dict[str, tuple[str, str]]) -> Report:
    if _entry(entries, "Success")[1] != "1":
        raise UnclearOutput(f"{entries['Success'][0]}: a test of HPC Challenge failed")
    values = {key: above_zero(_entry(entries, key)[1], _entry(entries, key)[0]) for key, *_ in _READ}
    processes = _entry(entries, "CommWorldProcs")[1]
    if processes != "1":
        values |= {key: above_zero(_entry(entries, key)[1], _entry(entries, key)[0]) for key, *_ in _MESSAGES}
    where, errors = _entry(entries, "MPIRandomAccess_ErrorsFraction")
    if number(errors, where) > 0.01:
        raise UnclearOutput(f"{where}: more than a hundredth of the updates is wrong")
    # The rate of HPL is 2/3 n^3 + 3/2 n^2 operations over its time (HPL's own definition).
    n, seconds = (above_zero(_entry(entries, key)[1], _entry(entries, key)[0]) for key in ("HPL_N", "HPL_time"))
    follows(values["HPL_Tflops"] * 1e12, (2 / 3 * n**3 + 1.5 * n**2) / seconds, 0.01, entries["HPL_Tflops"][0])
    version = ".".join(_entry(entries, f"Version{part}")[1] for part in ("Major", "Minor", "Micro"))
    settings = {"processes": processes, "n": entries["HPL_N"][1], "nb": _entry(entries, "HPL_NB")[1]}
    readings = [
        reading(name, metric, values[key] * unit) for key, name, metric, unit in (*_READ, *_MESSAGES) if key in values
    ]
    return Report("hpcc", version[:20], {key: value for key, value in settings.items() if value}, tuple(readings))


READER = Reader(
    "hpcc",
    "hpccoutf.txt of HPC Challenge 1.4 and 1.5",
    begins(r"Begin of Summary section\.|This is the DARPA/DOE HPC Challenge Benchmark"),
    _reports,
)

# One problem, one block size, one grid: the form of HPL's own input file, one value per line with its note.
_INPUT = """HPLinpack input file
one system
HPL.out  file
8        to the file
1        sizes
{n}      n
1        block sizes
{nb}     nb
0        by rows
1        grids
$p       p
$q       q
16.0     threshold
1        factorisations
2        right
1        stops
4        nbmin
1        panels
2        ndiv
1        recursive
1        Crout
1        broadcasts
1        ring
1        lookaheads
1        depth
2        mixed swap
64       swap from
0        transposed
0        transposed
1        equilibrate
8        alignment
----
0        sizes of PTRANS beside
1200
0        block sizes of PTRANS beside
40"""


def _command(settings: Settings) -> str:
    problem = _INPUT.format(n=settings["n"], nb=settings["nb"])
    return (
        f"k={processors(settings, 'processes')}; p=1; i=1; "
        "while [ $((i * i)) -le $k ]; do [ $((k % i)) -eq 0 ] && p=$i; i=$((i + 1)); done; q=$((k / p))\n"
        f"cat > hpccinf.txt <<END\n{problem}\nEND\n"
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
        "mpirun --oversubscribe -np $k hpcc >&2 && cat hpccoutf.txt"
    )


_NAMED = {name: metric for _, name, metric, _ in _READ}

TOOLS = (
    Tool("hpcc", "HPL, DGEMM, STREAM, PTRANS, RandomAccess and FFT of HPC Challenge, on all processes of one machine.",
         "The best that tuned libraries can do: a distribution's package is linked with its own.",
         (("debian", "hpcc"), ("fedora", "hpcc-openmpi")),
         (count("n", "8000", "order of the matrix; its square times 8 bytes must fit the memory", "2000"),
          count("nb", "128", "size of a block"), at_once("processes", "processes: all (one for each processor), or a number")),
         _command, lambda _: measures(**_NAMED), READER, lambda s: 60.0 + (float(s["n"]) / 1000) ** 3 / 2),
)  # fmt: skip
