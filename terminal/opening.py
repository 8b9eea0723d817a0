"""The warehouse that a reading command works on: the file, or one in memory made of paths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .checking import check
from .messages import warn
from .settings import find_db, read_settings
from .telling import Told, asked, without_paths

if TYPE_CHECKING:
    from ..schema.warehouse import Warehouse


def open_for_reading(
    db: Path | None,
    paths: Sequence[Path],
    lock_timeout: float,
    *,
    audited: bool = True,
    skipped: list[str] | None = None,
    told: Told | None = None,
) -> Warehouse:
    """The warehouse file, or logs and tables below `paths` read into memory.

    `audited` is False for who audits by itself; `skipped` gets the files that hold neither; `told`
    is what `--set` said, where several are opened for one command.
    Raises NothingRecognised when none of the paths holds a log or a benchmark table.
    """
    from ..schema.warehouse import in_memory, open_read

    told = asked.take() if told is None else told
    if not paths:
        if told:
            raise without_paths(told)
        return open_read(find_db(db), lock_timeout)
    from ..ingest.options import cores
    from ..ingest.pipeline import ingest_into

    warehouse = in_memory()
    summary = ingest_into(warehouse, paths, Path.cwd(), read_settings().formats, cores())
    for uri, reason in summary.failed:
        warn(f"{uri}: {reason}")
    if skipped is not None:
        skipped += summary.skipped
    if not summary.new:
        from .summary import nothing_recognised

        raise nothing_recognised(len(summary.skipped))
    if told:
        from ..schema.telling import tell

        tell(warehouse, summary.uris, told)
    check(warehouse, Path.cwd(), audited=audited)
    return warehouse
