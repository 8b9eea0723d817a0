"""The rules of the audit, as the files of rules/ declare them.

A rule is one file, `ID_slug.toml`: its test and the reason for it, its equations and queries, the
templates of its findings. Checks that no equation expresses are in the Python file of the same
name.
"""

from __future__ import annotations

import re
import zlib
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..vocabulary.package_toml import declarations
from .finding import Finding, Place

if TYPE_CHECKING:
    from .input import AuditInput

_DECLARED = ("id", "slug", "title", "tests", "threshold", "severity", "needs", "also",
             "request")  # fmt: skip
Check = Callable[["AuditInput"], Iterable["Finding"]]


@dataclass(frozen=True, slots=True)
class Template:
    """The texts of a finding, for `str.format`; the rule supplies the values.

    `{items}` is a list formatted by `each` (in suggestions `{fixes}`, by `fix_each`), cut after
    `most` items. `rule` overrides the id of the finding.
    """

    message: str
    evidence: str = ""
    suggestion: str = ""
    severity: str = "error"
    confidence: str = "medium"
    rule: str = ""
    each: str = ""
    fix_each: str = ""
    join: str = ", "
    most: int = 20

    def listed(self, items: Sequence[Mapping[str, object]]) -> str:
        """Items as a list in text, duplicates removed."""
        texts = list(dict.fromkeys(self.each.format_map(item) for item in items))
        more = f" and {len(texts) - self.most} more" if len(texts) > self.most else ""
        return self.join.join(texts[: self.most]) + more


@dataclass(frozen=True, slots=True)
class Sample:
    """A table with a violation: its heading and rows, and a part of the finding's text.

    `before` are the earlier versions of the table, for rules that use the history.
    """

    table: Sequence[str]
    finds: str
    text: str = ""  # above the table
    before: Sequence[Sequence[str]] = ()


@dataclass(slots=True)
class Rule:
    """A rule: its test, its threshold, its templates, and the rules that run before it.

    `needs` are ids: rows that those rules flag or repair are no evidence here. `also` maps further
    ids that its findings can have to their slugs. A rule with `request` runs only on request:
    "history" of `bench audit --history`, "merges" where groups were merged.
    """

    id: str
    slug: str
    title: str
    tests: str
    threshold: str
    severity: str
    needs: Sequence[str] = ()
    also: Mapping[str, str] = field(default_factory=dict)
    templates: Mapping[str, Template] = field(default_factory=dict)
    samples: Sequence[Sample] = ()
    request: str = ""
    checks: list[Check] = field(default_factory=list)

    def check(self, check: Check) -> Check:
        """Decorator: registers a function that yields findings; checks run in definition order."""
        self.checks.append(check)
        return check

    def finding(
        self, kind: str, cells: Iterable[Place], *, severity: str = "", confidence: str = "",
        items: Sequence[Mapping[str, object]] = (), known: MutableMapping[str, Any] | None = None,
        **values: object,
    ) -> Finding:  # fmt: skip
        """A finding worded by a template; `severity` and `confidence` override the template's.

        Texts can use `values` and the names of `known`, which are resolved on access.
        """
        template = self.templates[kind]
        values["items"] = template.listed(items)
        values["fixes"] = ", ".join(map(template.fix_each.format_map, items))
        names = ChainMap(values, known or {})
        return Finding(
            (template.rule or self.id,),
            severity or template.severity,
            confidence or template.confidence,
            template.message.format_map(names),
            template.evidence.format_map(names),
            tuple(cells),
            template.suggestion.format_map(names),
        )


def declared(module: str) -> Rule:
    """The rule declared in the TOML file next to a module of rules/, without its checks."""
    return rule_of(declaration(module.rpartition(".")[2]))


def rule_of(read: Mapping[str, Any]) -> Rule:
    """A rule with its templates and samples, without its checks."""
    templates = {
        name: Template(**{key: text for key, text in template.items() if key != "if"})
        for name, template in read["templates"].items()
    }
    samples = [Sample(**one) for one in read.get("sample", ())]
    known = {name: read[name] for name in _DECLARED if name in read}
    return Rule(**known, templates=templates, samples=samples)


def declaration(stem: str) -> Mapping[str, Any]:
    """The parsed TOML of a file of rules/."""
    found: Mapping[str, Any] = declarations(__package__ or "bench.audit", "rules")[stem]
    return found


def rule_files() -> list[str]:
    """The names of the files of rules/."""
    folder = files(__package__ or "bench.audit") / "rules"
    return sorted(entry.name for entry in folder.iterdir())


@cache
def described() -> tuple[Rule, ...]:
    """Every rule without its checks, which are slow to import."""
    stems = (name[:-5] for name in rule_files() if name.endswith(".toml"))
    return tuple(rule_of(declaration(stem)) for stem in stems)


def number_of(name: str) -> tuple[int, str]:
    """The number and letter of an id, as a sort key."""
    match = re.fullmatch(r"R(\d+)(\w*)", name)
    return (int(match[1]), match[2]) if match else (0, name)


@cache
def rules_version() -> int:
    """A hash over the files of this folder; if it changes, documents are audited again."""
    digest = 0
    folder = files(__package__ or "bench.audit")
    for part in (folder, folder / "rules"):
        for entry in sorted(part.iterdir(), key=lambda one: one.name):
            if entry.name.endswith((".py", ".toml")):
                digest = zlib.crc32(entry.read_bytes(), digest)
    return digest >> 1  # INTEGER in the warehouse: 31 bits


@cache
def slugs() -> Mapping[str, str]:
    """Every id that a finding can have, with its slug."""
    found = ({rule.id: rule.slug, **rule.also} for rule in described())
    return {name: slug for names in found for name, slug in names.items()}
