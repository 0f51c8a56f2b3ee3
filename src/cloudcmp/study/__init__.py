"""The study file: YAML 1.2 read into model.study.Study, with all its faults reported at once."""

from cloudcmp.study.read import default_study, default_text, demo_text, read, read_terms, read_text, without_comments
