"""`cloudcmp paas`: measure platforms that run a handler."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloudcmp.cli.options import Ca, Json, Quiet, option, trust_also
from cloudcmp.cli.output import console, emit, ignore, say, warn

if TYPE_CHECKING:
    from cloudcmp.model.platform import PlatformRun


def paas(
    platforms: Annotated[
        list[str],
        typer.Argument(help="Where the handler answers, each with a name.", metavar="[NAME=]URL...",
                       show_default=False),
    ],
    rounds: Annotated[int, typer.Option("--rounds", help="How often each page is asked for.", metavar="N")] = 20,
    cold_starts: Annotated[
        int, typer.Option("--cold-starts", help="How often all rest before one more request.", metavar="N")
    ] = 0,
    idle: Annotated[str, typer.Option("--idle", metavar="TIME", help="How long they rest.")] = "16 min",
    load: Annotated[
        int, typer.Option("--load", help="Requests in flight, stepped from none at once.", metavar="N")
    ] = 0,
    load_time: Annotated[str, typer.Option("--load-time", metavar="TIME", help="How long the load lasts.")] = "30 s",
    limits: Annotated[bool, typer.Option("--limits", help="Find limits of time, memory and bodies.")] = False,
    longest: Annotated[
        str, typer.Option("--longest", metavar="TIME", help="With --limits: the longest request.")
    ] = "60 s",
    most_memory: Annotated[
        str, typer.Option("--most-memory", metavar="SIZE", help="With --limits: the most memory.")
    ] = "2 GiB",
    most_body: Annotated[
        str, typer.Option("--most-body", metavar="SIZE", help="With --limits: the longest body.")
    ] = "64 MB",
    bill: Annotated[
        list[str] | None,
        option("--bill", "How a platform bills: lambda, cloud-run, azure-functions or app-engine.",
               "NAME=RULE[,memory=SIZE]..."),
    ] = None,
    token: Annotated[
        str,
        typer.Option("--token", envvar="CLOUDCMP_SERVE_TOKEN", show_envvar=False, show_default=False, metavar="TEXT",
                     help="What the handlers ask for ($CLOUDCMP_SERVE_TOKEN)."),
    ] = "",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the order of requests.")] = 1,
    out: Annotated[Path | None, option("--out", "Write every request as a tidy table, for `cloudcmp import`.")] = None,
    report: Annotated[Path | None, option("--report", "Write the figures as one HTML file.", "FILE")] = None,
    ca: Ca = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Measure platforms that run a handler (Cloud Run, App Engine, Functions, Lambda), or machines that do.

    The handler is `cloudcmp-agent serve`. Each round asks each platform for an image of one pixel, for 2 MB, and for
    short tasks of processor, memory and disk, in random order. --cold-starts, --load and --limits measure more, and
    take more time and money.

    Example: cloudcmp paas run=https://run.example.org fn=https://fn.example.org --report platforms.html

    Example: cloudcmp paas run=https://run.example.org --load 20 --bill run=cloud-run,memory=512MiB,cpus=1
    """
    from cloudcmp.app import paas as use_case
    from cloudcmp.execute.platforms.limits import Bounds

    trust_also(ca)
    bounds = Bounds(
        use_case.seconds("--longest", longest),
        use_case.size("--most-memory", most_memory),
        use_case.size("--most-body", most_body),
    )
    asked = use_case.PaasQuestion(
        rounds=rounds, idle_times=cold_starts, idle_s=use_case.seconds("--idle", idle), load=load,
        load_s=use_case.seconds("--load-time", load_time), limits=bounds if limits else None, bills=tuple(bill or ()),
        token=token, seed=seed,
    )  # fmt: skip

    def keep(run: "PlatformRun") -> None:
        if out is not None:
            warn(f"kept: {use_case.save(run, out)} rows in {out}")

    found = use_case.paas(platforms, asked, progress=ignore if json or quiet else warn, interrupted=keep)
    if out is not None:
        use_case.save(found.run, out)
    if report is not None:
        from cloudcmp.app.report import write_page

        write_page(found, report)
    if json:
        from cloudcmp.report.paas_documents import paas as document

        emit("paas", document(found), found.notes)
        return
    from cloudcmp.report.paas import show_paas

    show_paas(console(), found)
    for path in (out, report):
        if path is not None:
            say(str(path))
