"""Documents whose lines reach tables, for the tests of context."""

from collections.abc import Mapping

from bench.ingest.documents.applicable_facts import stated
from bench.ingest.documents.document import read_document
from bench.ingest.documents.sections import FoundTable

TABLE = "| Nodes | Size | MBS | TFLOPs |\n|---|---|---|---|\n| 4 | 1.3B | 1 | 10 |\n"
EVERY = (
    "seq_len", "recompute", "framework", "dtype", "device", "layers", "hidden", "heads", "gbs",
    "tp", "pp", "size", "params_b", "devices_per_node", "zero_stage",
)  # fmt: skip
FORMULA = (
    "\n```\nperl -le '$ng=8; $ms=1.3; $gbs=512; $seqlen=2048; print $ms*{}*2*$seqlen*$gbs'\n```\n\n"
)


def reached(text: str, size: float | None = None) -> list[Mapping[str, str | None]]:
    """The facts that reach each table of a document."""
    document = read_document(text)

    def of(found: FoundTable) -> Mapping[str, str | None]:
        facts = stated(found.facts, document.everywhere, EVERY, size)
        return {name: fact.value for name, fact in facts.items()}

    return [of(found) for found in document.tables if found.number]
