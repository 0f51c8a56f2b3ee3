"""Studies on disk: what was planned, what happened, and every sample, none of it lost once it was acknowledged."""

from cloudcmp.store.access import tag_in
from cloudcmp.store.crash import crash_point
from cloudcmp.store.ledger import LaunchRecord
from cloudcmp.store.seals import MadeElsewhere
from cloudcmp.store.study_store import StudyStore, open_to_end
from cloudcmp.store.tidy import TidyColumns
from cloudcmp.store.tidy_agree import TidyTable
from cloudcmp.store.tidy_check import read_tidy
from cloudcmp.store.tidy_export import NO_ROUNDS, REPLICATION_UNKNOWN, export_table
from cloudcmp.store.tidy_import import import_table
from cloudcmp.store.tidy_write import csv_parts, write_csv, write_parquet
from cloudcmp.store.untrusted_parquet import parquet_columns, parquet_rows
from cloudcmp.store.user_key import state_folder

__all__ = [
    "NO_ROUNDS",
    "REPLICATION_UNKNOWN",
    "LaunchRecord",
    "MadeElsewhere",
    "StudyStore",
    "TidyColumns",
    "TidyTable",
    "crash_point",
    "csv_parts",
    "export_table",
    "import_table",
    "open_to_end",
    "parquet_columns",
    "parquet_rows",
    "read_tidy",
    "state_folder",
    "tag_in",
    "write_csv",
    "write_parquet",
]
