"""Loads the content of a site: all runs and their findings, in few queries."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from importlib.resources import files
from itertools import accumulate
from typing import Any

from ..decide.budget import Budget
from ..decide.budget_choice import budget
from ..decide.eligible import Candidates, eligible
from ..decide.failures import failures
from ..decide.query import Query
from ..decide.rows import Decision, load
from ..decide.run_dates import RunDates, ran
from ..decide.selection import select, select_of_every
from ..decide.spreads import Spread, spreads, system_name
from ..schema.errors import BenchError
from ..schema.materialized import materialize_if_cheap, materialize_pages
from ..schema.sql import named_statements
from ..schema.warehouse import Row, Warehouse
from .distinct_names import names_apart
from .doubts import Doubts, doubts_of_site
from .labels import Labels
from .text import ShownNames, Slugs, Text

# Maximum of rows with pages, of a source and of all, the shortest sources first; further rows link
# to their lines. A run takes 30 kB; GitHub Pages allow 1 GB.
ROWS_WITH_PAGES, ALL_ROWS_WITH_PAGES = 2000, 10_000
LINES = 2000  # lines of a source per page
NOT_STATED = "Model not stated"


@dataclass(frozen=True)
class Content(Labels):
    """The runs of a site, in order of place, with the data of its pages."""

    names: ShownNames
    warehouse: Warehouse
    query: Query
    rows: Sequence[Row]
    doubts: Doubts
    spreads: Mapping[str, Spread]
    ran: Mapping[str, RunDates]
    sources: Mapping[str, Mapping[str, Any]]
    findings: Sequence[Mapping[str, Any]]  # one per finding, with its cells
    failures: Decision
    plans: Sequence[Mapping[str, Any]]
    cited: Mapping[str, Sequence[int]]  # lines by uri
    slugs: Mapping[str, str] = field(default_factory=dict)  # of sources
    model_slugs: Mapping[str, str] = field(default_factory=dict)
    # Further lines that pages link to, which are shown on source pages like cited ones.
    linked: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    _places: dict[str, str] = field(default_factory=dict)

    @property
    def doubted(self) -> Mapping[str, str]:
        """Audit errors by run."""
        return self.doubts.doubted

    @cached_property
    def by_id(self) -> dict[str, Row]:
        return {row["run"]: row for row in self.rows}

    @cached_property
    def by_place(self) -> dict[tuple[str, int], Row]:
        return {(row["uri"], row["line"]): row for row in self.rows}

    @cached_property
    def models(self) -> dict[str, list[Row]]:
        """Runs by model, the model with the most runs first; those without a model last."""
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            groups[model_of(row)].append(row)
        order = sorted(groups, key=lambda name: (name == NOT_STATED, -len(groups[name]), name))
        return {name: groups[name] for name in order}

    @cached_property
    def with_pages(self) -> frozenset[str]:
        """The runs that have a page of their own."""
        many = Counter(row["uri"] for row in self.rows if row["origin"] == "row")
        uris = sorted(many, key=lambda uri: (many[uri], uri))
        shown = dict(zip(uris, accumulate(many[uri] for uri in uris), strict=True))
        return frozenset(
            row["run"]
            for row in self.rows
            if row["origin"] != "row"
            or (many[row["uri"]] <= ROWS_WITH_PAGES and shown[row["uri"]] <= ALL_ROWS_WITH_PAGES)
        )

    @cached_property
    def findings_of(self) -> dict[str, list[Mapping[str, Any]]]:
        found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for finding in self.findings:
            for run in dict.fromkeys(finding["runs"]):
                if run is not None:
                    found[run].append(finding)
        return found

    def place(self, row: Row) -> str:
        """The name of a run by its place, cached; of several in a line with what differs."""
        run = row["run"]
        if (known := self._places.get(run)) is None:
            known = super().place(row)
            if apart := self._apart.get(run):
                known = f"{known} ({self.text.line(apart, 60)})"
            self._places[run] = known
        return known

    def typed(self, row: Row) -> str:
        """What names a run to a command: its place, its id where several share it."""
        return self.id(row["run"]) if row["run"] in self._apart else super().place(row)

    @cached_property
    def _apart(self) -> dict[str, str]:
        return names_apart(self.rows)

    def href(self, run: str) -> str:
        """The link to the page of a run; without one, to its line."""
        if run in self.with_pages:
            return f"runs/{self.id(run)}.html"
        row = self.by_id[run]
        return self.line_href(row["uri"], row["line"]) or "index.html"

    def effects_key(self, row: Row) -> str:
        """The data file with the effects for the model of a run."""
        return f"models/{self.model_slugs[model_of(row)]}/effects"

    def model_href(self, row: Row) -> str:
        return f"models/{self.model_slugs[model_of(row)]}.html"

    def line_href(self, uri: str | None, line: int | None) -> str | None:
        """The link to a line of a source; None if it is on no page."""
        if uri is None or line is None or uri not in self.slugs:
            return None
        self.linked[uri].add(line)
        return f"{source_file(self.slugs[uri], (line - 1) // LINES)}#L{line}"

    def source_href(self, uri: str) -> str | None:
        """The link to a source's first page."""
        return source_file(self.slugs[uri], 0) if uri in self.slugs else None

    def at(self, row: Row) -> datetime | None:
        """The time of a run, as far as known."""
        return self.ran.get(row["run"], RunDates()).at

    def budget_of(self, rows: Sequence[Row]) -> Budget:
        """The training length of days on a page with these rows."""
        by_source: dict[str, set[float]] = {row["uri"]: set() for row in rows}
        for row in rows:
            by_source[row["uri"]] |= {row["params_b"]} - {None}
        here = [plan for plan in self.plans if plan["uri"] in by_source]
        plans = [{**plan, "sizes": by_source[plan["uri"]]} for plan in here]
        documents = {row["uri"] for row in rows if row["origin"] == "row" and row["params_b"]}
        return budget(plans, set[float]().union(*by_source.values()), self.query, documents)

    def plan_of(self, row: Row) -> Budget:
        """The training length of days on the pages of a run's model."""
        return self.plans_of_models[model_of(row)]

    @cached_property
    def plans_of_models(self) -> dict[str, Budget]:
        return {name: self.budget_of(rows) for name, rows in self.models.items()}

    def candidates(self, rows: Sequence[Row]) -> Candidates:
        return Candidates(list(rows), dict(self.doubted), self.spreads_of(rows))

    def spreads_of(self, rows: Sequence[Row]) -> dict[str, Spread]:
        """The spreads between jobs that are known for rows, by name."""
        names = {name for row in rows for name in (row["uri"], system_name(row))}
        return {name: self.spreads[name] for name in sorted(names & self.spreads.keys())}


def model_of(row: Row) -> str:
    """The model that a run is listed under."""
    return str(row["size"] or row["model"] or NOT_STATED)


def source_file(slug: str, part: int) -> str:
    """The file name of a source's page."""
    return f"sources/{slug}{f'.{part + 1}' if part else ''}.html"


def read_content(
    warehouse: Warehouse, query: Query, text: Text, clean: Collection[str] = ()
) -> Content:
    """Load everything but the details of single runs; raises BenchError if there is no run.

    `clean` are the keys of logs without errors in the last build.
    """
    materialize_pages(warehouse)
    # Materialized: queried three times here, and each query would sort all intervals.
    materialize_if_cheap(warehouse, "iterations", "effective_steps")
    select(warehouse, Query())
    every = load(warehouse)
    warehouse.rows("CREATE OR REPLACE TEMP TABLE site_runs AS FROM selected")
    wanted = _wanted(warehouse, query, every)
    rows = [row for row in every if row["run"] in wanted]
    if not rows:
        raise BenchError(
            "no runs to show",
            why="no run of the warehouse fits the filters",
            hint="bench runs lists what there is",
        )
    statements = named_statements(
        (files(__package__ or "bench.site") / "load.sql").read_text("utf-8")
    )
    uris = [row["uri"] for row in rows]
    sources = {row["uri"]: row for row in warehouse.dicts(statements["sources"])}
    companions = {uri for (uri,) in warehouse.rows(statements["companions"])}
    failed = failures(warehouse, replace(query, since=None, tokens=None, steps=None))
    # An accounting names users that `--scrub`, which learns names from logs, may not know.
    accounts = set() if text.scrubs else {row["uri"] for row in failed.rows}
    shown = {uri: sources[uri] for uri in sources if uri in {*uris, *companions, *accounts}}
    doubts = doubts_of_site(warehouse, rows, sources, clean)
    known = spreads(eligible(rows, doubts.doubted, "pace").kept)
    _learn_names(warehouse, text, statements["names"])
    names = ShownNames(sources, text)
    slugs, models = Slugs(), Slugs()
    content = Content(
        warehouse=warehouse,
        query=query,
        text=text,
        names=names,
        rows=rows,
        doubts=doubts,
        spreads=known,
        ran=ran(warehouse),
        sources=shown,
        findings=[row for row in warehouse.dicts(statements["findings"]) if row["uri"] in shown],
        failures=failed,
        plans=warehouse.dicts(statements["plans"]),
        cited={uri: lines for uri, lines in warehouse.rows(statements["cited"]) if uri in shown},
        slugs={uri: slugs.of(names.short(uri)) for uri in sorted(shown)},
    )
    return replace(
        content, model_slugs={name: models.of(text.line(name, 60)) for name in content.models}
    )


def _wanted(warehouse: Warehouse, query: Query, rows: Sequence[Row]) -> set[str]:
    if (query.model, query.where, query.document, query.since) == (None,) * 4:
        return {row["run"] for row in rows}
    select_of_every(warehouse, query)
    return {run for (run,) in warehouse.rows("SELECT run_id FROM selected")}


def _learn_names(warehouse: Warehouse, text: Text, query: str) -> None:
    """Register names of hosts and users found in settings, which are scrubbed from all texts."""
    if text.scrubs:
        for name, value in warehouse.rows(query):
            text.named(name, value)
