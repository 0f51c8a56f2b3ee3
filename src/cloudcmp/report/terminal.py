"""What the commands print for people; it fits 80 columns, and nothing that a machine said moves the cursor."""

from cloudcmp.report.command_lines import show_commands
from cloudcmp.report.comparison import show
from cloudcmp.report.quote import show_plan
from cloudcmp.report.safeguards import show_safeguards
from cloudcmp.report.table import Head, say, table

__all__ = ["Head", "say", "show", "show_commands", "show_plan", "show_safeguards", "table"]
