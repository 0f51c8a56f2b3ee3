"""What people read of a study: the terminal's table, figures and the report, all made from one View."""
