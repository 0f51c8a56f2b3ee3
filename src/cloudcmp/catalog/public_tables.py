"""Columns of public comparisons: their directions, and how their tools were run, so that they can be run here.

Source: the outputs that Spare Cores publishes beside its table (https://sparecores.com, CC BY-SA 4.0): stress-ng says
its duration and workers, openssl its children. The number of processes of its memory bandwidth is not published, so
that column cannot be measured alike.
"""

from dataclasses import dataclass

from cloudcmp.model.metric import Better

CPUS = "{cpus}"
"""In a command, the number of this machine's processors."""


@dataclass(frozen=True, slots=True)
class PublicColumn:
    """One column: its direction, and the command whose output's `measure` it is; without one it is only looked up.

    `is_whole` is true for the work of all processors of a machine at once, which adds up over machines.
    `version` is that of the tool in the table, and `asked` the command that prints that of the tool here. `probe` is
    the line of a study that runs the tool alike, and `cell` the cell that it then measures.
    """

    better: Better
    tool: str = ""
    command: tuple[str, ...] = ()
    measure: str = ""
    version: str = ""
    asked: tuple[str, ...] = ()
    probe: str = ""
    cell: str = ""
    is_whole: bool = False


def _stress(workers: str) -> PublicColumn:
    command = ("stress-ng", "--metrics", "--cpu", workers, "--cpu-method", "div16", "-t", "20")
    many = "all" if workers == CPUS else workers
    probe = f"{{tool: stress-ng-cpu, params: {{cpu_method: div16, workers: {many}}}, install: true}}"
    cell = "tool_op_per_s measure=bogo_ops;tool=stress-ng-cpu"
    asked = ("stress-ng", "--version")
    return PublicColumn(Better.HIGHER, "stress-ng", command, "bogo_ops", "0.17.08", asked, probe, cell,
                        is_whole=workers == CPUS)  # fmt: skip


def _openssl(algorithm: str) -> PublicColumn:
    command = ("openssl", "speed", "-mr", "-multi", CPUS, "-bytes", "16384", "-evp", algorithm)
    probe = f"{{tool: openssl-speed, params: {{algorithm: {algorithm}, threads: all}}, install: true}}"
    cell = "tool_bytes_per_s measure=of_16384_bytes;tool=openssl-speed"
    asked = ("openssl", "version")
    return PublicColumn(Better.HIGHER, "openssl", command, "of_16384_bytes", "3.3.0", asked, probe, cell,
                        is_whole=True)  # fmt: skip


PUBLIC_COLUMNS = {
    "stressng_1": _stress("1"),
    "stressng_best_n": _stress(CPUS),
    "openssl_sha256_16k_bps": _openssl("sha256"),
    "openssl_aes256cbc_16k_bps": _openssl("aes-256-cbc"),
    "bw_mem_rd_512mb": PublicColumn(Better.HIGHER),
    "bw_mem_wr_512mb": PublicColumn(Better.HIGHER),
    "passmark_me_latency": PublicColumn(Better.LOWER),
    "passmark_summ_cpu": PublicColumn(Better.HIGHER),
    "geekbench_single": PublicColumn(Better.HIGHER),
    "geekbench_multi": PublicColumn(Better.HIGHER, is_whole=True),
    "gzip5_compress_bps_best": PublicColumn(Better.HIGHER),
    "zstd_first_compress_bps_best": PublicColumn(Better.HIGHER),
    "redis_set_rps_best": PublicColumn(Better.HIGHER),
    "static_web_1k_rps_best": PublicColumn(Better.HIGHER),
}
LIKE = ("stressng_1", "stressng_best_n", "openssl_sha256_16k_bps", "openssl_aes256cbc_16k_bps")
"""The columns in which a machine is compared unless others are named: those that can be measured here."""
