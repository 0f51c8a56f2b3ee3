"""Studies on disk: their plans, events and samples; acknowledged data is durable."""

from cloudcmp.store.access import tag_in
from cloudcmp.store.seals import MadeElsewhere
from cloudcmp.store.study_store import StudyStore, open_to_end
from cloudcmp.store.tidy_export import BLOCKS_ALLOWED, NO_ROUNDS, NO_TIMES, REPLICATION_UNKNOWN
from cloudcmp.store.untrusted_parquet import parquet_columns, parquet_rows
from cloudcmp.store.user_key import state_folder
