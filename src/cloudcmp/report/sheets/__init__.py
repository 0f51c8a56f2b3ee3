"""The report's tables, one module for each subject; each turns a `StudyView` into sheets of plain text."""
