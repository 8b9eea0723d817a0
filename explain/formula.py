"""A formula: its result, source and counted terms, and its uses in the warehouse."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..audit.rule import described, number_of, slugs
from ..schema.catalogue import Formula, formulas, metrics
from ..schema.errors import BenchError
from ..vocabulary.format import counted
from .columns import plain
from .context import ExplainContext
from .tree import Arithmetic, Match, Node

_RULE = re.compile(r"r\d+[a-z]?")
_ID = re.compile(r"[A-Z]\d{1,2}[A-Z]?", re.I)
_OF_ROWS = "SELECT formula, count(*) FROM model_flops SEMI JOIN selected USING (run_id) GROUP BY 1"
_INPUTS = {
    "b": "global batch size in sequences",
    "s": "sequence length in tokens",
    "l": "layers",
    "h": "hidden size",
    "v": "vocabulary, padded where the source prints so",
    "vocab": "vocabulary",
    "a": "attention heads",
    "g": "groups of key and value heads",
    "k": "channels of a head",
    "ffn": "inner size of the MLP",
    "gates": "matrices of h x ffn in an MLP: 2, gated 3",
    "experts": "experts that a token takes; dense: 1",
    "factor": "4 with full recompute, 3 without",
    "params": "parameters",
    "tokens": "tokens: of a step, or of a budget",
    "tokens_per_s": "tokens a second of the job",
    "t": "tensor-parallel size",
    "tp": "tensor-parallel size",
    "p": "pipeline-parallel size",
    "tflops": "TFLOP/s as printed",
    "nodes": "nodes",
    "n": "number of the units that the TFLOP/s are of",
    "macs": "multiply-accumulates of one forward pass",
}


def formula_named(text: str) -> Formula | None:
    """The formula with an id."""
    return next((formula for formula in formulas() if formula.name == text.strip().upper()), None)


def no_formula(text: str) -> BenchError | None:
    """The error for an unknown id of a formula or rule; None for text that is no id."""
    if not _ID.fullmatch(text.strip()):
        return None
    if text.strip()[0] in "Rr":
        ids = ", ".join(sorted(slugs(), key=number_of))
        return BenchError(f"no rule {text.strip()!r}", hint=f"rules: {ids}")
    known = sorted(
        (formula.name for formula in formulas()), key=lambda name: (name[0], len(name), name)
    )
    hint = f"formulas: {', '.join(known)}"
    return BenchError(f"no formula {text.strip().upper()!r}", hint=hint)


def rule_named(text: str) -> Match | None:
    """The audit rule with an id (`R9`): its test, threshold, and requirements."""
    wanted = text.strip().lower()
    for rule in described() if _RULE.fullmatch(wanted) else ():
        if wanted in (one.lower() for one in (rule.id, *rule.also)):
            parts = [("threshold", rule.threshold), ("at worst", rule.severity)]
            parts += [("runs after", ", ".join(rule.needs))] if rule.needs else []
            parts += [("also tells", f"{name} {slug}") for name, slug in rule.also.items()]
            inputs = tuple(Node(name, value) for name, value in parts)
            tree = Node(f"{rule.id} {rule.slug}", rule.title, note=rule.tests, inputs=inputs)
            return Match(rule.id, "a rule of the audit", tree)
    return None


def matches(context: ExplainContext, formula: Formula) -> Iterator[Match]:
    """The formula, the metrics that use it, and the number of runs."""
    inputs = tuple(Node(name, "", note=_INPUTS.get(name, "")) for name in formula.parameters)
    how = Arithmetic(
        plain(formula.expression), formula.name, formula.title, formula.source, formula.counts
    )
    used = [m.name for m in metrics() if formula.name in m.source.replace(",", " ").split()]
    runs = sum(n for name, n in context.warehouse.rows(_OF_ROWS) if name == formula.name)
    notes = [f"used by {', '.join(used)}"] if used else []
    notes += [f"model FLOPs of {counted(runs, 'run')} here"] if runs else []
    yield Match(formula.name, "a formula",
                Node(formula.name, formula.title, formula.unit, how=how, note="; ".join(notes),
                     inputs=inputs))  # fmt: skip
    yield from _detected(context, formula)


def _detected(context: ExplainContext, formula: Formula) -> Iterator[Match]:
    """The tables whose printed TFLOPs follow the formula, as detected by the audit."""
    from ..audit.formula_detection import detect
    from ..audit.load import load

    for document in load(context.warehouse).documents:
        detect(document)
        for table in document.tables:
            found = table.detected
            if found and found.reading.formula == formula.name and found.certain:
                note = f"{found.agree} of {found.tested} rows fit {found.reading.long}"
                where = context.where(document.uri, table.header_line)
                yield Match(
                    where, "TFLOPs that follow it", Node("table", table.header_line, note=note)
                )
