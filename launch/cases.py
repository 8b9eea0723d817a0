"""Expansion of a plan: every combination of its settings that meets its constraints."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb

from ..schema.errors import BenchError
from ..schema.rows import content_id
from ..schema.where import compile_where
from ..vocabulary.secrets import redact
from .launcher import Scheduler, layout_error, nodes_of, scheduler_class
from .plan import Matrix, Plan
from .trainer import Sizes, Trainer

MOST = 10_000  # combinations, and runs: more than this is a mistake in the plan
_MOST_LISTED = 10 * MOST  # combinations, equal ones included


@dataclass(frozen=True, slots=True)
class Case:
    """One combination: the requested settings and the sizes derived from them."""

    settings: Mapping[str, object]
    env: Mapping[str, str]  # an empty value unsets the variable
    values: Mapping[str, object]
    job: Mapping[str, object]
    id: str
    label: str = ""  # the settings that distinguish it within its plan
    facts: Mapping[str, object] = field(default_factory=dict)  # columns of the warehouse

    @property
    def requested(self) -> dict[str, object]:
        """The settings and the words of a template."""
        return {**self.settings, **self.values}

    @property
    def words(self) -> dict[str, object]:
        """Every name that a constraint may use."""
        return {**self.facts, **self.requested}

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return nodes_of(self.settings, self.job)

    @property
    def ranks(self) -> int:
        """The number of processes."""
        ranks = self.facts.get("ranks")
        return ranks if isinstance(ranks, int) else 1


@dataclass(frozen=True, slots=True)
class DroppedCase:
    """A combination that is dropped, and why."""

    case: Case
    why: str


@dataclass(frozen=True, slots=True)
class Expansion:
    """The cases of a plan, and the dropped combinations."""

    cases: tuple[Case, ...]
    dropped: tuple[DroppedCase, ...]
    device: str | None


def expand(plan: Plan, trainer: Trainer, named: Sequence[str] = ()) -> Expansion:
    """Every combination of the plan, checked by its trainer and by its constraints.

    Labels name what varies, and `named`. Raises BenchError when there are more than `MOST`, before
    or after the checks and with repeats, or when a constraint cannot be read.
    """
    requested = _labelled(list(_combinations(plan)), named)
    examined = trainer.examine([case.requested for case in requested])
    sizes = examined.sizes
    requested = [
        replace(case, facts=found.facts) for case, found in zip(requested, sizes, strict=True)
    ]
    constraints = [Constraint(number, text) for number, text in enumerate(plan.constraints, 1)]
    scheduler = scheduler_class(plan.launcher)
    why = unmet(constraints, [case.words for case in requested])
    for place, found in enumerate(sizes):
        refused = found.refused or (
            _layout_error(requested[place], scheduler) if scheduler else None
        )
        if refused and place not in why:
            why[place] = refused
    meant = [
        _without_unused(plan, case, found.idle)
        for case, found in zip(requested, sizes, strict=True)
    ]
    cases = _labelled(meant, named)
    _drop_duplicates(cases, sizes, why)
    kept = tuple(case for place, case in enumerate(cases) if place not in why)
    dropped = tuple(DroppedCase(requested[place], reason) for place, reason in sorted(why.items()))
    if not kept:
        reasons = dict.fromkeys(f"{one.case.label}: {one.why}" for one in dropped)
        shown = "\n       ".join(list(reasons)[:10])
        raise BenchError(
            "no combination can run",
            why=shown,
            hint="change sizes or constraints; check with --dry-run",
        )
    if len(kept) * plan.repeats > MOST:
        raise BenchError(
            f"the plan has more than {MOST:,} runs",
            why=f"{len(kept):,} combinations, {plan.repeats:,} times each",
            hint="reduce the lists of values, or repeats",
        )
    return Expansion(kept, dropped, examined.device)


def _without_unused(plan: Plan, case: Case, idle: Mapping[str, str]) -> Case:
    """The case without settings that have no effect at its sizes, so its label omits them."""
    settings = {name: value for name, value in case.settings.items() if name not in idle}
    case_id = _id(plan, settings, case.env, case.values, case.job)
    return replace(case, settings=settings, id=case_id)


def _drop_duplicates(cases: Sequence[Case], sizes: Sequence[Sizes], why: dict[int, str]) -> None:
    """Add to `why` the cases that duplicate an earlier one."""
    first: dict[str, int] = {}
    for place, (case, found) in enumerate(zip(cases, sizes, strict=True)):
        if place in why:
            continue
        around = (case.nodes, *map(_sorted, (case.env, case.values, case.job)))
        same = first.setdefault(repr((found.work or case.id, around)), place)
        if same != place:
            reasons = [*found.idle.values(), f"duplicate of {cases[same].label or 'another run'}"]
            why[place] = ": ".join(reasons)


def _sorted(words: Mapping[str, object]) -> list[tuple[str, object]]:
    return sorted(words.items(), key=lambda word: word[0])


def _layout_error(case: Case, scheduler: type[Scheduler]) -> str | None:
    given = case.facts.get("ranks")
    ranks = given if isinstance(given, int) else None
    return layout_error(case.settings, case.job, ranks, scheduler.per_node)


def _combinations(plan: Plan) -> Iterator[Case]:
    base = plan.settings.model_dump(exclude_none=True)
    seen: set[str] = set()
    tried = 0
    for matrix in plan.matrix or [Matrix()]:
        own = matrix.model_dump(exclude_none=True, exclude={"env", "values", "job"})
        axes = [("settings", name, value) for name, value in (base | own).items()]
        axes += [("env", name, value) for name, value in (plan.env | matrix.env).items()]
        axes += [("values", name, value) for name, value in (plan.values | matrix.values).items()]
        axes += [("job", name, value) for name, value in (plan.job | matrix.job).items()]
        for chosen in itertools.product(*(_list(value) for _, _, value in axes)):
            parts: dict[str, dict[str, object]] = {
                "settings": {}, "env": {}, "values": {}, "job": {},
            }  # fmt: skip
            for (part, name, _), value in zip(axes, chosen, strict=True):
                parts[part][name] = value
            env = {name: str(value) for name, value in parts["env"].items()}
            settings, values, job = parts["settings"], parts["values"], parts["job"]
            case_id = _id(plan, settings, env, values, job)
            if case_id not in seen:
                seen.add(case_id)
                yield Case(settings, env, values, job, case_id)
            tried += 1
            if len(seen) > MOST:
                raise BenchError(
                    f"the plan has more than {MOST:,} combinations",
                    hint="reduce the lists of values",
                )
            if tried > _MOST_LISTED:
                raise BenchError(
                    f"the plan lists more than {_MOST_LISTED:,} combinations",
                    why="equal ones count too", hint="reduce the lists of values, or matrix",
                )  # fmt: skip


def _list(value: object) -> Sequence[object]:
    """The distinct values of an axis; 1 and true are distinct."""
    return list(
        {repr(one): one for one in (value if isinstance(value, list) else [value])}.values()
    )


def _id(plan: Plan, *parts: Mapping[str, object]) -> str:
    """A digest of the run, independent of its plan and place in it."""
    named = [f"{name}={value!r}" for part in parts for name, value in sorted(part.items())]
    named += [f"path={plan.path!r}", f"arguments={plan.arguments!r}"] if plan.path else []
    return content_id("case", plan.trainer, plan.launcher, plan.command or "", *named)[:8]


def _labelled(cases: Sequence[Case], also: Sequence[str]) -> list[Case]:
    """Label cases by the settings that vary; a single case by the usual ones."""
    flat = [{**case.settings, **case.values, **case.env, **case.job} for case in cases]
    names = list(dict.fromkeys(name for one in flat for name in one))
    vary = [name for name in names if len({repr(one.get(name)) for one in flat}) > 1]
    named = ("model", "dp", "tp", "pp", "mbs", *(name for case in cases for name in case.values))
    vary = vary or [name for name in dict.fromkeys(named) if name in names]
    vary += [name for name in also if name in names and name not in vary]
    return [
        replace(case, label=", ".join(_assignment(name, one[name]) for name in vary if name in one))
        for case, one in zip(cases, flat, strict=True)
    ]


def _assignment(name: str, value: object) -> str:
    return f"{name}={redact(name, ' '.join(str(value).split()))}"


def slug(label: str) -> str:
    """A label as a file name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", label).strip("-.")[:60].rstrip("-.") or "run"


Words = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Constraint:
    """One condition of a plan, as written, and its place in the list from 1."""

    number: int
    text: str


def unmet(constraints: Sequence[Constraint], rows: Sequence[Words]) -> dict[int, str]:
    """The rows, by index, that violate a constraint, each with the first one violated.

    Raises BenchError for a constraint that is not a condition over the names of the rows.
    """
    kinds = _kinds(rows)
    why: dict[int, str] = {}
    if not constraints:
        return why
    with duckdb.connect(":memory:") as con:
        columns = ", ".join(f'"{name}" {kind}' for name, kind in kinds.items())
        con.execute(f"CREATE TABLE combinations (place INTEGER{columns and ', '}{columns})")
        # Loaded by column: row by row, a large plan takes half a minute.
        values = [[_stored(row.get(name), kind) for row in rows] for name, kind in kinds.items()]
        lists = ", ".join(["unnest(?)"] * (len(kinds) + 1))
        con.execute(f"INSERT INTO combinations SELECT {lists}", [[*range(len(rows))], *values])
        for constraint in constraints:
            condition = _compiled(constraint, kinds)
            query = f"SELECT place, ({condition}) FROM combinations WHERE ({condition}) IS NOT TRUE"
            for place, outcome in con.execute(query).fetchall():
                why.setdefault(place, _explained(constraint, rows[place], outcome))
    return why


def _kinds(rows: Sequence[Words]) -> dict[str, str]:
    """The DuckDB type of every name; text for a name with values of several types."""
    kinds: dict[str, str] = {}
    for row in rows:
        for name, value in row.items():
            if value is not None:
                kind = _kind(value)
                both = {kinds.get(name, kind), kind}
                kinds[name] = kind if len(both) == 1 else _common_type(both)
    return kinds


def _kind(value: object) -> str:
    match value:
        case bool():
            return "BOOLEAN"
        case int():
            return "BIGINT"
        case float():
            return "DOUBLE"
    return "VARCHAR"


def _stored(value: object, kind: str) -> object:
    """The value converted for a column of this type."""
    if value is None or kind != "VARCHAR":
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _common_type(kinds: set[str]) -> str:
    return "DOUBLE" if kinds <= {"BIGINT", "DOUBLE"} else "VARCHAR"


def _compiled(constraint: Constraint, kinds: Mapping[str, str]) -> str:
    try:
        return compile_where(constraint.text, kinds)
    except BenchError as error:
        raise BenchError(
            f"constraint {constraint.number} of the plan: {error.what}",
            why=error.why,
            where=error.where or constraint.text,
            hint=error.hint,
        ) from error


def _explained(constraint: Constraint, row: Words, outcome: bool | None) -> str:
    named = dict.fromkeys(word for word in re.findall(r"[A-Za-z_]\w*", constraint.text))
    values = ", ".join(
        f"{name} {redact(name, str(row[name]))}" for name in named if row.get(name) is not None
    )
    missing = [name for name in named if name in row and row[name] is None]
    unknown = f"; unknown: {', '.join(missing)}" if outcome is None and missing else ""
    return f"{constraint.text} is false ({values}{unknown})"
