"""`cloudcmp export`: writes a study's values as a table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cloudcmp.cli.options import Anonymise, Folder, IncludeIds, Json, OutFile, check_hidden, option
from cloudcmp.cli.output import emit, say, warn
from cloudcmp.errors import UserMistake


def export(
    folder: Folder,
    out: OutFile = None,
    format_: Annotated[
        str | None, option("--format", "Format of the table; default: by the file's suffix.", "csv|parquet")
    ] = None,
    bundle: Annotated[Path | None, option("--bundle", "Write a folder to publish and cite.", "FOLDER")] = None,
    author: Annotated[
        list[str] | None, option("--author", "An author of the bundle; give it once for each.", "'FAMILY, GIVEN'")
    ] = None,
    include_ids: IncludeIds = False,
    anonymise: Anonymise = False,
    json: Json = False,
) -> None:
    """Write a study's values as one tidy table, or as a folder that can be published and cited.

    Without --out, writes CSV to standard output. Pseudonyms replace public addresses, account and instance ids.
    A bundle holds the table, the study, the plan, the prices, the methods in words, and how to cite it.

    Example: cloudcmp export cloudcmp-studies/demo-20260105T000000Z --out demo.parquet

    Example: cloudcmp export cloudcmp-studies/demo-20260105T000000Z --bundle demo-bundle
    """
    from cloudcmp.app.export import export as export_study
    from cloudcmp.app.export import rows
    from cloudcmp.store.output_files import is_standard_output

    check_hidden(include_ids=include_ids, anonymise=anonymise)
    if bundle is not None:
        if out is not None or format_ is not None:
            raise UserMistake.at("--bundle", "a bundle is a folder of its own", "leave out --out and --format")
        _bundle(folder, bundle, author or (), include_ids=include_ids, anonymise=anonymise, json=json)
        return
    if author:
        raise UserMistake.at("--author", "only a bundle names authors", "add --bundle FOLDER")
    if out is not None and not json and is_standard_output(out):
        out, format_ = None, format_ or "csv"
    if json and out is None:
        emit("export", rows(folder, include_ids=include_ids, anonymise=anonymise))
        return
    written = export_study(folder, out, format_, include_ids=include_ids, anonymise=anonymise)
    if json:
        emit("export", {"path": out, "rows": written})
    elif out is not None:
        say(str(out))


def _bundle(
    folder: Path, out: Path, authors: Sequence[str], *, include_ids: bool, anonymise: bool, json: bool
) -> None:  # fmt: skip
    from cloudcmp.app.bundle import export_bundle

    written = export_bundle(folder, out, authors, include_ids=include_ids, anonymise=anonymise)
    if json:
        emit("export", {"path": out, "rows": written.rows, "files": written.files}, written.notes)
        return
    for note in written.notes:
        warn(note)
    say(str(out))
