"""The rules of the audit, as the files of rules/ declare them.

A rule is one file, `ID_slug.toml`: what it tests and why, its equations and queries, the words of
its findings. What no equation says is a function in the Python file of the same name.
"""

from __future__ import annotations

import re
import tomllib
import zlib
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from .finding import Finding, Place

if TYPE_CHECKING:
    from .input import AuditInput

_DECLARED = ("id", "slug", "title", "tests", "threshold", "severity", "needs", "also")
Check = Callable[["AuditInput"], Iterable["Finding"]]


@dataclass(frozen=True, slots=True)
class Template:
    """The words of a finding: texts for `str.format`, whose names the rule fills in.

    `{items}` are several of a kind, each told by `each` (in suggestions `{fixes}`, by `fix_each`);
    `most` of them are, if there are more.
    `rule` is the finding's id where that is not its rule's.
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
    most: int | None = None

    def listed(self, items: Sequence[Mapping[str, object]]) -> str:
        """Several of a kind in words."""
        texts = list(dict.fromkeys(self.each.format_map(one) for one in items))
        more = f" and {len(texts) - self.most} more" if self.most and len(texts) > self.most else ""
        return self.join.join(texts[: self.most]) + more


@dataclass(frozen=True, slots=True)
class Sample:
    """A table that a rule finds something in: its heading and rows, and words of the finding."""

    table: Sequence[str]
    finds: str
    text: str = ""  # above the table


@dataclass(slots=True)
class Rule:
    """What a rule tests, its threshold and why, what it says, and which rules go before it.

    `needs` are ids: the rows that those rules find wrong, or put right, are no evidence here.
    `also` are the ids, each with its slug, of findings that it tells apart from its own.
    """

    id: str
    slug: str
    title: str
    tests: str
    threshold: str
    severity: str
    needs: Sequence[str] = ()
    also: Mapping[str, str] = field(default_factory=dict)
    says: Mapping[str, Template] = field(default_factory=dict)
    samples: Sequence[Sample] = ()
    checks: list[Check] = field(default_factory=list)

    def check(self, check: Check) -> Check:
        """Decorator: a function that yields findings of the rule; they run in their order."""
        self.checks.append(check)
        return check

    def finding(
        self, kind: str, cells: Iterable[Place], *, severity: str = "", confidence: str = "",
        items: Sequence[Mapping[str, object]] = (), known: MutableMapping[str, Any] | None = None,
        **values: object,
    ) -> Finding:  # fmt: skip
        """A finding in the words of a template; grades that are given go before the template's.

        Texts may name the values, and what is `known`, which is looked up only when they do.
        """
        words = self.says[kind]
        values["items"] = words.listed(items)
        values["fixes"] = ", ".join(map(words.fix_each.format_map, items))
        names = ChainMap(values, known or {})
        return Finding(
            (words.rule or self.id,),
            severity or words.severity,
            confidence or words.confidence,
            words.message.format_map(names),
            words.evidence.format_map(names),
            tuple(cells),
            words.suggestion.format_map(names),
        )


def declared(module: str) -> Rule:
    """The rule whose file of rules/ stands beside a module, still without its checks."""
    return rule_of(declaration(module.rpartition(".")[2]))


def rule_of(read: Mapping[str, Any]) -> Rule:
    """A rule with its words and samples, still without its checks."""
    says = {
        name: Template(**{key: text for key, text in words.items() if key != "if"})
        for name, words in read["says"].items()
    }
    samples = [Sample(**one) for one in read.get("sample", ())]
    known = {name: read[name] for name in _DECLARED if name in read}
    return Rule(**known, says=says, samples=samples)


def declaration(stem: str) -> dict[str, Any]:
    """What a file of rules/ says."""
    text = (files(__package__ or "bench.audit") / "rules" / f"{stem}.toml").read_text("utf-8")
    return tomllib.loads(text)


def rule_files() -> list[str]:
    """The names of the files of rules/."""
    folder = files(__package__ or "bench.audit") / "rules"
    return sorted(entry.name for entry in folder.iterdir())


@cache
def described() -> tuple[Rule, ...]:
    """Every rule without its checks, which take long to import."""
    stems = (name[:-5] for name in rule_files() if name.endswith(".toml"))
    return tuple(rule_of(declaration(stem)) for stem in stems)


def number_of(name: str) -> tuple[int, str]:
    """The number and letter of an id, to sort by."""
    found = re.fullmatch(r"R(\d+)(\w*)", name)
    return (int(found[1]), found[2]) if found else (0, name)


@cache
def rules_version() -> int:
    """A number that changes with any file of this folder: documents are then audited anew."""
    digest = 0
    folder = files(__package__ or "bench.audit")
    for part in (folder, folder / "rules"):
        for entry in sorted(part.iterdir(), key=lambda one: one.name):
            if entry.name.endswith((".py", ".toml")):
                digest = zlib.crc32(entry.read_bytes(), digest)
    return digest >> 1  # INTEGER in the warehouse: 31 bits


@cache
def slugs() -> Mapping[str, str]:
    """Every id that a rule's finding may have, with its slug."""
    found = ({rule.id: rule.slug, **rule.also} for rule in described())
    return {name: slug for names in found for name, slug in names.items()}
