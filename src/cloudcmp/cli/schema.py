"""`cloudcmp schema`: prints the JSON Schema of study files."""

import sys

from cloudcmp.cli.options import Json, OutFile
from cloudcmp.cli.output import emit, say


def schema(out: OutFile = None, json: Json = False) -> None:
    """Print the JSON Schema of study files, with which editors complete and check them.

    An editor with a YAML language server reads it if the study begins with this line, as those of cloudcmp start do:

    # yaml-language-server: $schema=./cloudcmp.schema.json

    Example: cloudcmp schema --out cloudcmp.schema.json
    """
    from cloudcmp.app.schema import schema_text, study_schema, write_schema
    from cloudcmp.store.output_files import is_standard_output

    if out is not None and not json and is_standard_output(out):
        out = None
    if out is not None:
        write_schema(out)
    if json:
        emit("schema", study_schema() if out is None else {"path": out})
    elif out is not None:
        say(str(out))
    else:
        sys.stdout.write(schema_text())
