"""Run all rules, each after the rules it needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module

from ..schema.materialized import OF_RUNS, OF_SOURCES, materialize, materialize_if_cheap
from ..schema.warehouse import Warehouse
from .detect import detect
from .equations import checks_of
from .finding import Finding, merged
from .input import AuditInput, Document
from .load import load
from .rule import Rule, declaration, number_of, rule_files, rule_of
from .scope import Scope, scope_of


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
