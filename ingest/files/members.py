"""Members of tar archives that somebody else made: headers within bounds, damage as one error."""

from __future__ import annotations

import tarfile
from typing import Any

LONGEST_HEADER = 16 << 10  # bytes of names and attributes: paths are up to 4 KiB long
# What `tarfile` raises for headers that are broken, as it happens to read them.
DAMAGE = (
    tarfile.TarError, EOFError, ValueError, LookupError, ArithmeticError, TypeError,
    AttributeError, RecursionError,
)  # fmt: skip
_EXTENDED = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip


class Member(tarfile.TarInfo):
    """A member whose header is bounded: Python before 3.11.10 takes the square of its length."""

    def _proc_member(self, archive: Any) -> tarfile.TarInfo:  # Any: `tarfile` has no type for it
        if self.type in _EXTENDED and self.size > LONGEST_HEADER:
            raise tarfile.ReadError(f"a header of {self.size} bytes")
        # A private method, which typeshed does not declare.
        member: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]
        return member
