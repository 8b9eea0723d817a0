"""Run all rules, each after the rules it needs; the scope of an audit.

The absence of findings does not prove correctness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module

from ..schema.materialized import OF_RUNS, OF_SOURCES, materialize, materialize_if_cheap
from ..schema.warehouse import Warehouse
from ..vocabulary.hardware import device_of
from .equations import checks_of
from .finding import Finding, merged
from .formula_detection import detect, expected, testable
from .input import AuditInput, Document, Row, Table
from .load import load
from .memory import ratio
from .relations import fitted
from .rule import Rule, declaration, number_of, rule_files, rule_of
from .sequence_flops import share_of, token_share, usable


def audit(warehouse: Warehouse, uris: Sequence[str] | None = None) -> list[Finding]:
    """Every finding, by file and line."""
    return examined(warehouse, uris)[0]


def examined(
    warehouse: Warehouse,
    uris: Sequence[str] | None = None,
    model: str | None = None,
    request: str = "",
) -> tuple[list[Finding], Scope]:
    """Every finding, and the scope of the tests; `request` includes rules that run on request."""
    materialize(warehouse, *OF_RUNS)
    materialize_if_cheap(warehouse, *OF_SOURCES)
    data = load(warehouse, uris, model, stated=True)
    wanted = {"", request, *(["merges"] if warehouse.rows("FROM merges LIMIT 1") else [])}
    for document in data.documents:
        detect(document)
    for rule in rules():
        for check in rule.checks if rule.request in wanted else ():
            # Rows with a finding are no evidence, so a check must see all earlier findings.
            data.findings += list(check(data))
    found = sorted(merged(data.findings), key=lambda one: (one.uri, one.line, one.rules))
    return found, scope_of(data)


def found_by(warehouse: Warehouse, name: str) -> list[Finding]:
    """The findings of one rule alone in all sources; its checks must be queries only."""
    uris = warehouse.rows("SELECT DISTINCT uri FROM runs ORDER BY uri")
    data = AuditInput(warehouse, [Document(uri) for (uri,) in uris])
    checks = next(rule for rule in rules() if rule.id == name).checks
    return [finding for check in checks for finding in check(data)]


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule, in dependency order."""
    names = rule_files()
    stems = (name[:-5] for name in names if name.endswith(".toml"))
    return tuple(_ordered([_rule(stem, f"{stem}.py" in names) for stem in stems]))


def _rule(stem: str, has_code: bool) -> Rule:
    """The rule of a file: the checks of its Python file, then its equations and queries."""
    read = declaration(stem)
    rule: Rule = import_module(f".rules.{stem}", __package__).RULE if has_code else rule_of(read)
    rule.checks += checks_of(rule, read)
    return rule


def _ordered(found: Sequence[Rule]) -> Iterable[Rule]:
    """Rules after those they need; independent rules by number."""
    by_id = {rule.id: rule for rule in found}
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for rule in found:
        if missing := set(rule.needs) - set(by_id):
            raise ValueError(f"rule {rule.id} needs {', '.join(sorted(missing))}, which is no rule")
        sorter.add(rule.id, *rule.needs)
    sorter.prepare()
    ready: list[str] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=number_of, reverse=True)
        name = ready.pop()
        yield by_id[name]
        sorter.done(name)


_SPEED = ("TFLOPs and time", "rates against each other", "size")
_KINDS = (*_SPEED, "topology", "batch", "memory", "peak")
_RATES = ("tflops", "tokens_per_s", "tokens_per_s_per_device", "samples_per_s",
          "samples_per_s_per_device", "mfu", "hfu", "peak_share")  # fmt: skip
_LOGS = """SELECT r.uri, count(*), count(i.tflops), count(i.samples_per_s), count(i.tokens_per_s)
    FROM iterations i JOIN runs r USING (run_id)
    WHERE r.origin = 'log' AND i.step_time_s IS NOT NULL GROUP BY r.uri, i.run_id"""


@dataclass(frozen=True, slots=True)
class Scope:
    """Counts of rows with results and logged runs, by their tests or missing inputs."""

    rows: int
    tested: Mapping[str, int]
    untested: Mapping[str, int]  # rows without an equation for their speed, by the missing input
    no_peak: int
    logs: Mapping[str, int]

    def lines(self) -> tuple[str, ...]:
        """The scope as text: checked and unchecked rows; empty without rows and steps."""
        found = []
        if self.rows:
            by = ", ".join(f"{number:,} by {name}" for name, number in self.tested.items())
            found.append(f"checked: {_counted(self.rows, 'row')} with results, {by}")
        if self.logs:
            counts = ", ".join(_counted(number, name) for name, number in self.logs.items())
            found.append(f"checked: {counts}")
        missing = []
        if self.untested:
            number = sum(self.untested.values())
            counts = ", ".join(f"{name}: {one:,}" for name, one in self.untested.items())
            missing.append(f"the speed of {_counted(number, 'row')} ({counts})")
        if self.no_peak:
            missing.append(f"the peak of {_counted(self.no_peak, 'row')} (no device that is known)")
        if missing:
            found.append(f"not checked: {'; '.join(missing)}")
        return tuple(found)


def scope_of(data: AuditInput) -> Scope:
    """The scope of the rules; call it after they have run."""
    tested: Counter[str] = Counter(dict.fromkeys(_KINDS, 0))
    untested: Counter[str] = Counter()
    rows = no_peak = 0
    for table in data.tables:
        related = {row.run_id for one in fitted(table) for row in one.rows}
        for row in (row for row in table.rows if row.measured):
            rows += 1
            kinds = _kinds(table, row, row.run_id in related)
            tested.update(kinds)
            if not kinds.intersection(_SPEED):
                untested[_missing(row)] += 1
            no_peak += "peak" not in kinds and ("tflops" in row.printed or "mfu" in row.printed)
    ordered = dict(untested.most_common())
    return Scope(rows, dict(tested), ordered, no_peak, _logs(data))


def _kinds(table: Table, row: Row, related: bool) -> set[str]:
    detected = table.detected
    formula = testable(row) and detected and detected.certain and expected(row, detected.reading)
    device = device_of(row.device) if row.device else None
    split = row.dp_shard if row.sharded else row.product if row.dp else row.tp
    batch = row.gbs and row.mbs and row.data_parallel and {"gbs", "mbs"} & set(table.columns)
    stated = {
        _SPEED[0]: formula or (usable(row) and share_of(table, row)),
        _SPEED[1]: related,
        _SPEED[2]: token_share(row),
        "topology": split and row.world,
        "batch": batch,
        "memory": ratio(row),
        "peak": device and device.peak and ("tflops" in row.printed or "mfu" in row.printed),
    }
    return {name for name, value in stated.items() if value}


def _missing(row: Row) -> str:
    """The first missing input that keeps the speed of a row out of every equation."""
    rates = [name for name in _RATES if name in row.printed]
    if row.invalid:
        return "cells under wrong headings"
    if not rates:
        return "a time and no rate"
    if not row.time:
        return "no time" if len(rates) == 1 else "fewer than three rows that agree"
    for missing, value in (
        ("no GBS", row.gbs),
        ("no number of processes", row.world),
        ("no sequence length", row.seq_len),
        ("no size or shape of the model", row.params_b or row.layers),
    ):
        if not value:
            return missing
    return "no formula fits, or too few rows" if row.tflops else "too few rows"


def _logs(data: AuditInput) -> dict[str, int]:
    wanted = {document.uri for document in data.documents}
    found: Counter[str] = Counter()
    logs = data.warehouse.rows("SELECT DISTINCT uri FROM runs WHERE origin = 'log'")
    if wanted.isdisjoint(uri for (uri,) in logs):
        return {}  # a warehouse may have a hundred million steps
    for uri, steps, *rates in data.warehouse.rows(_LOGS):
        if uri in wanted:
            found["logged run"] += 1
            found["step"] += steps
            for name, number in zip(("TFLOPs", "samples/s", "tokens/s"), rates, strict=True):
                found[f"value of {name}"] += number
    return dict(found)


def _counted(number: int, name: str) -> str:
    first, *rest = name.split(" of ")
    return " of ".join((f"{number:,} {first}{'' if number == 1 else 's'}", *rest))
