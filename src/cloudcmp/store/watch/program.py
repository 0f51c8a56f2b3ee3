"""The program that goes with evidence, by which a third party verifies it without cloudcmp."""

from importlib.resources import files

VERIFIER = "verify.py"
PROGRAM = files("cloudcmp.store.watch").joinpath("verify_evidence.py").read_text(encoding="utf-8")
