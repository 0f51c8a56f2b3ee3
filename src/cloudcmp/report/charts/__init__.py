"""The figures, one module for each kind; each turns a `StudyView` into drawings of one style."""
