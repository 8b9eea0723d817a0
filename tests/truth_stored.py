"""What a warehouse holds of a document, under the names of a golden reading."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bench.schema.warehouse import Warehouse
from bench.vocabulary.hardware import one_spelling
from bench.vocabulary.sizes import parse_size
from tests.scoring import plain

# Golden names -> columns of `runs` and `topology`, where they differ.
_COLUMNS = {
    "gpus": "devices",
    "size": "model",
    "nlayers": "layers",
    "nhidden": "hidden",
    "nheads": "heads",
    "gas": "grad_accum",
    "precision": "dtype",
    "act_ckpt": "recompute",
}
_METRICS = {
    "sec_per_it": "step_time_s",
    "tflops": "tflops",
    "mfu": "mfu",
    "hfu": "hfu",
    "mem_value": "memory",
    "tokens_per_s": "tokens_per_s",
    "tokens_per_s_per_gpu": "tokens_per_s_per_device",
    "samples_per_s": "samples_per_s",
}
_PERCENT = ("mfu", "hfu")
_RECOMPUTE = {"none": False, "full": True, "selective": "selective"}


class Stored:
    """Rows and findings of one document in a warehouse, by line."""

    def __init__(self, warehouse: Warehouse, uri: str) -> None:
        def rows(query: str) -> Iterator[dict[str, Any]]:
            yield from warehouse.dicts(query, [uri])

        self.runs: dict[int, list[dict[str, Any]]] = defaultdict(list)
        query = """SELECT r.*, t.* EXCLUDE (run_id) FROM runs r JOIN topology t USING (run_id)
                   WHERE r.uri = ? AND origin = 'row' ORDER BY line, row_number"""
        for row in rows(query):
            for line in range(row["line"], row["last_line"] + 1):  # a run may be a column
                self.runs[line].append(row)
        self.metrics: dict[tuple[str, str], float] = {
            (row["run_id"], row["metric"]): row["value"]
            for row in rows("SELECT m.* FROM measurements m JOIN runs USING (run_id) WHERE uri = ?")
        }
        self.texts: dict[int, list[str]] = defaultdict(list)
        for row in rows(
            "SELECT c.line, c.raw FROM cells c JOIN tables USING (table_id) WHERE uri = ?"
        ):
            self.texts[row["line"]].append(row["raw"])
        query = """SELECT f.rule, list(DISTINCT f.line) AS lines FROM findings f
                   LEFT JOIN tables t USING (table_id) LEFT JOIN runs r USING (run_id)
                   WHERE coalesce(t.uri, r.uri) = ? AND f.severity = 'error'
                   GROUP BY f.audit_id, f.number, f.rule"""
        self.errors = [(row["rule"], set(row["lines"])) for row in rows(query)]

    def all_runs(self) -> Iterator[dict[str, Any]]:
        """Each row once, though it may stand on several lines."""
        yield from {run["run_id"]: run for runs in self.runs.values() for run in runs}.values()

    def value(self, run: Mapping[str, Any], name: str) -> object:
        """The stored value of a golden field, None where nothing is stored."""
        if name in _METRICS:
            found = self.metrics.get((run["run_id"], _METRICS[name]))
            if found is None and name == "tokens_per_s":  # as printed, whosever it turned out to be
                found = self.metrics.get((run["run_id"], "tokens_per_s_per_device"))
            if found is None and name == "tflops":
                of_job = self.metrics.get((run["run_id"], "aggregate_pflops"))
                found = of_job * 1e3 if of_job is not None else None
            return found * 100 if found is not None and name in _PERCENT else found
        if name == "act_ckpt":
            return _RECOMPUTE.get(run["recompute"])
        if name == "params_b" and run[name] is None:  # a view has those of a label in the text
            return parse_size(run["model"] or "")
        return run.get(_COLUMNS.get(name, name))

    def known(self, name: str, run: Mapping[str, Any]) -> bool:
        """Whether a golden field is one of ours; the text of other columns is kept as it stands."""
        return name in _METRICS or _COLUMNS.get(name, name) in run


def kept(wanted: Iterable[object], texts: Iterable[str]) -> bool:
    """Whether one of the values stands in a cell."""
    return any(
        plain(one) == plain(text) or _number(text) == one for text in texts for one in wanted
    )


def same_field(name: str, wanted: object, value: object) -> bool:
    """Whether a stored value of a field is the golden one; a name may be spelled otherwise."""
    if same(wanted, value) or not (isinstance(wanted, str) and isinstance(value, str)):
        return same(wanted, value)
    if name == "device":
        return one_spelling(wanted) == one_spelling(value)
    one, other = (re.sub(r"[\W_]", "", text.lower()) for text in (wanted, value))
    sizes = parse_size(wanted), parse_size(value)
    return name == "size" and sizes[0] == sizes[1] and (one in other or other in one)


def same(wanted: object, value: object) -> bool:
    """Whether a stored value is the golden one."""
    if not plain(wanted) and value is None:  # a dash is nothing
        return True
    if wanted is None or value is None:
        return False
    if isinstance(wanted, bool) or isinstance(value, bool):
        return wanted is value
    if isinstance(wanted, int | float) and isinstance(value, int | float):
        return math.isclose(wanted, value, rel_tol=1e-6)
    return plain(wanted) == plain(value)


def _number(text: str) -> float | bool | None:
    if text.strip().lower() in ("y", "yes", "true", "n", "no", "false"):
        return text.strip().lower()[0] in "yt"
    found = re.match(r"\s*-?\d+(?:\.\d+)?(?:e\d+)?", text)
    return float(found[0]) if found else None
