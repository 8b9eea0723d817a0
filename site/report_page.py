"""Reports and answers as pages in one file: text, tables and charts."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from ..decide.answers import effects, ranked, scaled
from ..decide.budget_choice import planned
from ..decide.eligible import candidates
from ..decide.query import Query
from ..project.short_names import ShortNames
from ..reports.answer import Answer
from ..reports.page import Page
from ..schema.warehouse import Warehouse
from ..vocabulary.format import days, significant
from .charts import Chart
from .effects import effects_chart
from .labels import Labels
from .model_charts import SETTINGS, Drawer, charts
from .single import of_markdown
from .text import Text


def report_page(warehouse: Warehouse, page: Page, query: Query) -> str:
    """A report as one file, with the site's charts of the same runs."""
    drawn = _report_charts(warehouse, page.names, query)
    named = {f"chart:{one.id}": one for one in drawn}
    entries = [{"title": one.title, "file": name, "caption": one.note or one.title}
            for name, one in named.items()]  # fmt: skip
    figures = {name: one.html for name, one in named.items()}
    return of_markdown(page.markdown(entries), figures)


def _report_charts(warehouse: Warehouse, names: ShortNames, query: Query) -> list[Chart]:
    chosen = candidates(warehouse, query)
    plan = planned(warehouse, query)
    found = ranked(warehouse, chosen, query, plan)
    changed = effects(chosen, SETTINGS)
    labels = Labels(Text(), names)
    return charts(labels, chosen.rows, found, scaled(chosen), changed, plan, "")


def answer_charts(names: ShortNames, answer: Answer) -> Sequence[Markup]:
    """The charts that the columns of an answer allow."""
    labels, rows = Labels(Text(), names), answer.rows
    if not rows:
        return []
    if "speedup" in answer.columns:
        made = [effects_chart(labels, rows, "")]
    elif "rank" in answer.columns:
        drawer, of_days = Drawer(labels, rows, ""), dict(answer.shown).get("days", "Days")
        made = [
            drawer.runs("speed", "Tokens/s of the job", "device_count", "Devices",
                        "tokens_per_s", "tokens/s", significant),
            drawer.runs("front", f"Devices against {of_days[0].lower()}{of_days[1:]}",
                        "device_count", "Devices", "days", of_days, days, fronts=True),
        ]  # fmt: skip
    else:
        made = []
    return [one.html for one in made if one is not None]
