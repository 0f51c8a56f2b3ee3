"""The names of all crash points of the controller (`cloudcmp.store.crash`)."""

CRASH_POINTS: tuple[str, ...] = (
    "create.folder_made",
    "create.before_tables",
    "create.after_tables",
    "create.before_commit",
    "create.after_commit",
    "create.renamed",
    "open.locked",
    "open.before_sweep",
    "sweep.before_unlink",
    "lease.before_commit",
    "lease.after_commit",
    "launch.before_commit",
    "launch.after_commit",
    "begin.before_commit",
    "begin.after_commit",
    "file.before_write",
    "file.before_fsync",
    "file.before_rename",
    "file.before_folder_fsync",
    "file.after_folder_fsync",
    "finish.before_commit",
    "finish.after_commit",
    "interrupt.before_commit",
    "interrupt.after_commit",
    "meta.before_commit",
    "meta.after_commit",
    "compact.before_commit",
    "compact.after_commit",
    "compact.after_sweep",
)
"""Every name, in the order in which a study meets them first."""

MIGRATION_CRASH_POINTS = ("migrate.before_commit", "migrate.after_commit")
"""Crash points that only a study of an earlier schema passes, when it is first opened to be written."""

REPLAN_CRASH_POINTS = ("replan.before_commit", "replan.after_commit")
"""Crash points that a study passes when rounds are added to it."""

CLOUD_CRASH_POINTS = (
    "cloud.before_create",
    "cloud.after_create",
    "cloud.after_find",
    "cloud.before_destroy",
    "cloud.after_destroy",
    "cloud.after_gone",
)
"""Crash points around each call to a provider; those around each row of the journal are the store's."""
RESIZE_CRASH_POINTS = ("cloud.before_resize", "cloud.while_stopped", "cloud.after_resize")
"""Crash points around a machine's stop and start; only a study that resizes passes them."""
