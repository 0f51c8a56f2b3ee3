"""What commands printed, kept in the study's own folder and nowhere else."""

import gzip
import json

import pytest

from cloudcmp.errors import StorageFault
from cloudcmp.store.outputs import keep


def test_an_output_is_kept_and_read_back(tmp_path):
    kept = keep(tmp_path, 3, 0, {"stdout": "a line"})
    assert json.loads(gzip.decompress((tmp_path / kept["file"]).read_bytes())) == {"stdout": "a line"}


def test_an_output_is_not_written_through_a_link(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "study").mkdir()
    (tmp_path / "other" / "00000003-0.json.gz").write_text("dear")
    (tmp_path / "study" / "outputs").symlink_to(tmp_path / "other")
    with pytest.raises(StorageFault, match="outputs: it is a link"):
        keep(tmp_path / "study", 3, 0, {"stdout": "a line"})
    assert (tmp_path / "other" / "00000003-0.json.gz").read_text() == "dear"
