"""`bench verify`: check a claim against its sources."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..terminal import options as o
from ..terminal.messages import warn
from ..terminal.tables import emit


class VerifyFormat(StrEnum):
    """The formats of `bench verify`."""

    TEXT = "text"
    JSON = "json"


@o.command()
def verify(
    claim: Annotated[Path, typer.Argument(metavar="CLAIM", help="The claim: claim.json.")],
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="The sources.")],
    allowed_signers: Annotated[
        Path | None,
        typer.Option(
            "--allowed-signers", metavar="FILE", help="Require a signature by one of these."
        ),
    ] = None,
    signature: Annotated[
        Path | None,
        typer.Option("--signature", metavar="FILE", help="The signature. Default: CLAIM.sig."),
    ] = None,
    format: Annotated[VerifyFormat, typer.Option("--format", help="Output format.")] = (
        VerifyFormat.TEXT
    ),
    output: o.Output = None,
) -> None:
    """Check a claim against its sources: signature, digests, answer, audit. Exit 0: it holds."""
    from ..claims.checked import as_json, as_lines, checked

    found = checked(
        claim, paths, allowed_signers, signature, lambda uri, why: warn(f"{uri}: {why}")
    )
    emit(as_json(found) if format is VerifyFormat.JSON else as_lines(found), output)
    raise typer.Exit(found.outcome.exit_code)
