"""The study file: YAML 1.2 read into model.study.Study, all its faults at once."""

from cloudcmp.study.comments import without_comments
from cloudcmp.study.default import default_study, default_text, demo_text
from cloudcmp.study.read import read, read_terms, read_text

__all__ = ["default_study", "default_text", "demo_text", "read", "read_terms", "read_text", "without_comments"]
