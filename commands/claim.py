"""`bench claim`: write an answer as a file that anybody can verify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..decide.query import Query
from ..schema.errors import BenchError
from ..terminal import options as o
from ..terminal.messages import info
from ..terminal.source import Source
from ..terminal.tables import emit


@o.command(query=("tokens", "steps"))
def claim(
    question: Annotated[
        str,
        typer.Argument(
            metavar="QUESTION", help="'best|days|value METRIC for MODEL [on DEVICE] [where EXPR]'."
        ),
    ],
    source: Source,
    query: Query,
    sign: Annotated[
        Path | None,
        typer.Option("--sign", metavar="KEY", help="Sign with this SSH key, into OUTPUT.sig."),
    ] = None,
    badge: Annotated[
        Path | None, typer.Option("--badge", metavar="FILE.svg", help="Also draw a badge.")
    ] = None,
    output: o.Output = None,
) -> None:
    """Write an answer with its rows, derivation and source digests, for bench verify."""
    from ..claims import badge as drawn
    from ..claims.make import claim as make
    from ..claims.question import parse_question
    from ..claims.signing import sign as signature
    from ..claims.signing import signature_of
    from ..claims.statement import as_text
    from ..vocabulary.atomic import atomic_write

    parsed = parse_question(question).model_copy(
        update={"tokens": query.tokens, "steps": query.steps}
    )
    if output is None and (sign or badge):
        raise BenchError("--sign and --badge need a claim file", hint="-o claim.json")
    with source.opened() as warehouse:
        made = make(warehouse, source.root, parsed, query)
    text = as_text(made)
    signed = signature(text.encode(), sign) if sign else None  # before anything is written
    emit(text, output)
    if output and signed:
        atomic_write(signature_of(output), signed)
        info(f"wrote {signature_of(output)}")
    if output and badge:
        emit(drawn.svg(made), badge)
        info(drawn.markdown(made, badge, output).rstrip("\n"))
    info(drawn.sentence(made))
    where = " ".join(map(str, source.paths)) or "PATH..."
    info(f"next: bench verify {output or 'claim.json'} {where}")
