"""The folder in which rows are staged is a folder of one's own, or there is none."""

import os
from pathlib import Path

from bench.ingest.files.batches import NAME, staging


def test_a_link_of_its_name_leads_nowhere(tmp_path: Path) -> None:
    """A repository may bring one: old folders below it are not cleared away."""
    other, base = tmp_path / "other", tmp_path / "base"
    for folder in (other / "precious", base):
        folder.mkdir(parents=True)
    os.utime(other / "precious", (0, 0))
    (base / NAME).symlink_to(other)
    with staging(base) as place:
        assert place is None, "rows come along instead"
    assert [path.name for path in other.iterdir()] == ["precious"]
    (base / NAME).unlink()
    (base / NAME / "kept").mkdir(parents=True)
    os.utime(base / NAME / "kept", (0, 0))
    with staging(base) as place:
        assert place is not None and place.stat().st_uid == os.geteuid()
    assert [path.name for path in (base / NAME).iterdir()] == ["kept"], "what we did not put there"
