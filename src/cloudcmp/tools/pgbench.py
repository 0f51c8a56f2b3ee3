"""pgbench: transactions of a PostgreSQL database; its text output."""

from cloudcmp.model.tool import Reader, Report, Settings, Tool, UnclearOutput
from cloudcmp.tools.base import (
    LATENCY,
    LOSS,
    RATE,
    choice,
    count,
    duration,
    measures,
    path,
    quoted,
    reading,
    whole_seconds,
)
from cloudcmp.tools.page import NUMBER, SECONDS, Page, above_zero, begins, follows, number, scaled, word

_KINDS = {"TPC-B (sort of)": "tpcb-like", "<builtin: TPC-B (sort of)>": "tpcb-like", "<builtin: select only>": "select-only",
          "SELECT only": "select-only", "<builtin: simple update>": "simple-update"}  # fmt: skip


def _reports(text: str) -> tuple[Report, ...]:
    page = Page(text)
    if broken := page.all(r".*Run was aborted; the above results are incomplete\."):
        raise UnclearOutput(f"{broken[0][0]}: the run was aborted, its results are incomplete")
    _, kind = page.one(r"transaction type: (.+)", "the type of transaction")
    settings = {"builtin": _KINDS.get(kind[1], word(kind[1]))}
    for key, label in (("scale", "scaling factor"), ("clients", "number of clients"), ("threads", "number of threads")):
        settings[key] = page.one(rf"{label}: (\d+)", label)[1][1]
    settings["protocol"] = word(page.one(r"query mode: (\w+)", "the query mode")[1][1])
    place, done = page.one(r"number of transactions actually processed: (\d+)(?:/\d+)?", "how many were processed")
    processed = above_zero(done[1], place)
    place, rate = page.one(
        rf"tps = ({NUMBER}) \((?:excluding connections establishing|without initial connection time)\)", "the rate"
    )
    rate_s = above_zero(rate[1], place)
    readings = [reading("transactions", RATE, rate_s)]
    # Versions before 9.4 do not print it.
    if latency := page.maybe(r"latency average(?: =|:) (\S+) (\S+)", "the mean latency"):
        mean = scaled(latency[1][1], latency[1][2], SECONDS, latency[0])
        # Each client waits for its answer: rate times latency is the number of clients, except for idle time.
        follows(rate_s * mean, float(settings["clients"]), 0.5, place)
        readings.append(reading("latency_mean", LATENCY, mean))
    if length := page.maybe(r"duration: (\d+) s", "how long it ran"):
        settings["duration_s"] = length[1][1]
        follows(rate_s, processed / above_zero(length[1][1], length[0]), 0.5, place)
    if failed := page.maybe(rf"number of failed transactions: (\d+) \({NUMBER}%\)", "how many failed"):
        lost = number(failed[1][1], failed[0])
        readings.append(reading("failed", LOSS, lost / (processed + lost)))
    return (Report("pgbench", "", settings, tuple(readings)),)


READER = Reader(
    "pgbench",
    "text of pgbench 9 and later",
    begins(r"(transaction type: .*|number of transactions actually processed: .*)$"),
    _reports,
)


def _command(settings: Settings) -> str:
    to = f"-h {quoted(settings, 'host')} -p {settings['port']}"
    name = quoted(settings, "database")
    return (
        f"pgbench {to} -i -q -s {settings['scale']} {name} >/dev/null && "
        f"pgbench {to} -n -b {settings['builtin']} -M {settings['protocol']} -c {settings['clients']} "
        f"-j {settings['threads']} -T {whole_seconds(settings)} {name}"
    )


TOOLS = (
    Tool("pgbench", "Transactions a second of a PostgreSQL database that is there, and their mean latency.",
         "Connecting; installing and tuning the database.",
         (("debian", "postgresql-contrib"), ("fedora", "postgresql-contrib"), ("alpine", "postgresql-contrib")),
         (choice("builtin", "tpcb-like select-only simple-update", "which transaction"), choice("protocol", "simple extended prepared", "how queries are sent"),
          count("scale", "10", "size of the tables: 100,000 accounts each"), count("clients", "1", "clients at once"),
          count("threads", "1", "threads of the load"), path("host", "127.0.0.1", "where the database listens, or the folder of its socket"),
          count("port", "5432", "its port"), path("database", "postgres", "its name; its tables of pgbench are replaced"), duration("60")),
         _command, lambda _: measures(transactions=RATE, latency_mean=LATENCY), READER,
         lambda s: float(s["duration_s"]) + float(s["scale"]) * 0.5 + 5),
)  # fmt: skip
