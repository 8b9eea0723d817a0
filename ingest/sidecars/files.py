"""Which files are sidecars of a log, and what each of them states."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath

from ...schema.rows import Rows
from ...vocabulary.job_variables import states
from ..coverage import Coverage
from ..kinds import OF_ENVIRONMENT, OF_PACKAGES, SCRIPTS, are_samples
from ..logs.environment import is_recorded
from .power import read_samples
from .script import read_script
from .statement import LARGEST, Leaf, Statements, leaves, names

KIND = "companion"  # as warehouses store it
SCRIPT, DEEPSPEED = "job script", "DeepSpeed configuration"
WANDB, WANDB_MACHINE = "W&B configuration", "W&B machine"
SAMPLES = "power samples"
HYDRA, PACKAGES, ENVIRONMENT = "Hydra configuration", "list of packages", "list of the environment"
_DIRECTIVE = re.compile(r"^#(?:SBATCH|PJM|PBS)\s", re.M)
_LAUNCHES = re.compile(
    r"^[^#\n]*\b(?:torchrun|deepspeed|mpirun|mpiexec|srun|accelerate|python3?)\b[^\n]*(?:\.py\b|-m\b)",
    re.M,
)
_PIN = re.compile(
    r"^(?P<name>[A-Za-z][\w.-]*)(?:\[[\w,-]+\])?(?:\s*==\s*|\s+)(?P<version>\d[\w.+!-]*)\s*(?:;.*|#.*)?$"
)
_PAIR = re.compile(r"^(?:export |declare -x )?(?P<name>[A-Za-z_]\w*)=(?P<value>.*)$")
_OF_DEEPSPEED = frozenset((
    "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps",
    "zero_optimization.stage",
))  # fmt: skip
_LEAST_PAIRS = 5


@dataclass(frozen=True, slots=True)
class Sidecar:
    """The format of a sidecar, and its statements."""

    format: str
    stated: Statements


def read_sidecar(path: str, text: str) -> Sidecar | None:
    """The statements of a sidecar, by its name and its text; None for any other file."""
    if are_samples(text[:2000].encode()):
        samples = read_samples(text)
        return Sidecar(SAMPLES, samples) if samples else None
    if len(text) > LARGEST:
        return None
    name, suffix = PurePath(path).name, PurePath(path).suffix.lower()
    for fits, read in _READERS:
        if fits(path, name, suffix, text) and (found := read(text)) is not None:
            return found
    return None


def rows_of(sidecar: Sidecar, source_id: str, text: str, size: int, errors: int) -> Rows:
    """The rows of a sidecar: facts of no run yet; linking finds the runs."""
    rows = Rows()
    for statement in sidecar.stated.every():
        rows.add("facts", field=statement.name, value=statement.value, raw=statement.value,
                 line=statement.line, scope=statement.scope, how="stated")  # fmt: skip
    for name, stated in sidecar.stated.doubtful():
        listed = ", ".join(f"{one.value} (line {one.line})" for one in stated[:4])
        rows.warn("ambiguous", f"{name} is stated as {listed}: none counts", stated[0].line)
    lines = text.count("\n") + (not text.endswith("\n"))
    read = len(sidecar.stated.lines)
    rows.add("sources", source_id=source_id, kind=KIND, format=sidecar.format, bytes=size,
             lines=lines, lines_read=read, lines_known=max(lines - read, 0), lines_unread=0,
             encoding_errors=errors)  # fmt: skip
    return rows


def coverage(sidecar: Sidecar) -> Coverage:
    """What was read of it."""
    return Coverage(KIND, sidecar.format, None, 0, len(sidecar.stated.lines), 0, 0)


def _is_script(path: str, name: str, suffix: str, text: str) -> bool:
    head = text[:2]
    shell = head == "#!" and re.match(r"#!\s*\S*(?:/|\benv\s+)(?:ba|z|k|da)?sh\b", text) is not None
    named = suffix in SCRIPTS or (shell and suffix in ("", ".txt", ".in"))
    return named and bool(_DIRECTIVE.search(text) or _LAUNCHES.search(text))


def _script(text: str) -> Sidecar | None:
    return Sidecar(SCRIPT, read_script(text))


def _deepspeed(text: str) -> Sidecar | None:
    found_leaves = leaves(text, True)
    if not found_leaves or not _OF_DEEPSPEED & {leaf.name for leaf in found_leaves}:
        return None
    stated = Statements()
    given = {}
    for leaf in found_leaves:
        stated.add(leaf.name, leaf.text, "deepspeed", leaf.line)
        given[leaf.name.replace(".", "_")] = leaf.text, leaf.line
    stated.arguments(given, "deepspeed")
    return Sidecar(DEEPSPEED, stated)


def _wandb(text: str) -> Sidecar | None:
    """Every setting is `name: {desc, value}`."""
    found_leaves = leaves(text, False)
    own = [leaf for leaf in found_leaves or () if re.fullmatch(r"[^.]+\.value(\..+)?", leaf.name)]
    if not own:
        return None
    stated, given = Statements(), {}
    for leaf in own:
        name = leaf.name.replace(".value", "", 1)
        if name == "_wandb.python_version":
            stated.add("python_version", leaf.text, "version", leaf.line)
        elif not name.startswith("_wandb"):
            stated.add(name, leaf.text, "wandb", leaf.line)
            given[name] = leaf.text, leaf.line
    stated.arguments(given)
    return Sidecar(WANDB, stated)


def _machine(text: str) -> Sidecar | None:
    found_leaves = leaves(text, True)
    if not found_leaves:
        return None
    stated = Statements()
    facts, columns = names("facts"), names("machine")
    words = [leaf.text for leaf in found_leaves if re.fullmatch(r"args\.\d+", leaf.name)]
    for leaf in found_leaves:
        if leaf.name in facts:
            stated.add(facts[leaf.name], leaf.text, "version", leaf.line)
        if leaf.name in columns:
            stated.column(columns[leaf.name], leaf.text, leaf.line)
    stated.arguments(
        _options(words, next((leaf.line for leaf in found_leaves if leaf.name == "args.0"), 1))
    )
    return Sidecar(WANDB_MACHINE, stated)


def _options(words: list[str], line: int) -> dict[str, tuple[str, int]]:
    """`--name value` and `--name=value` of a list of words."""
    given: dict[str, list[str]] = {}
    for word, following in pairwise([*words, "--"]):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            plain = value if equals else "True" if following.startswith("--") else following
            given.setdefault(name.replace("-", "_"), []).append(plain)
    return {name: (stated[0], line) for name, stated in given.items() if len(set(stated)) == 1}


def _hydra(text: str) -> Sidecar | None:
    found_leaves = leaves(text, False)
    if not found_leaves:
        return None
    stated = Statements()
    by_leaf: dict[str, list[Leaf]] = {}
    for leaf in found_leaves:
        stated.add(leaf.name, leaf.text, "hydra", leaf.line)
        first, _, rest = leaf.name.partition(".")
        if first in ("model", "trainer") and rest:
            by_leaf.setdefault(rest.rpartition(".")[2], []).append(leaf)
    # A name with different values in two places states nothing about the model.
    single = {n: (one[0].text, one[0].line) for n, one in by_leaf.items()
              if len({leaf.text for leaf in one}) == 1}  # fmt: skip
    stated.arguments(single, "nemo")
    return Sidecar(HYDRA, stated)


def _packages(text: str) -> Sidecar | None:
    stated, known = Statements(), names("packages")
    for number, line in enumerate(text.split("\n"), 1):
        if match := _PIN.match(line.strip()):
            name = known.get(re.sub(r"[-_.]+", "-", match["name"]).lower())
            if name:
                stated.add(name, match["version"], "version", number)
    return Sidecar(PACKAGES, stated) if stated.statements else None


def _environment(text: str) -> Sidecar | None:
    stated = Statements()
    lines = [line for line in text.split("\n") if line.strip()]
    pairs = [match for line in lines if (match := _PAIR.match(line))]
    if len(pairs) < _LEAST_PAIRS or len(pairs) * 5 < len(lines) * 4:
        return None
    for number, line in enumerate(text.split("\n"), 1):
        match = _PAIR.match(line)
        if match and is_recorded(match["name"]):
            value = match["value"].strip("\"'")
            kind = states(match["name"])
            if kind in (None, "places"):
                stated.add(match["name"], value, "env", number)
                continue
            stated.add("job_id" if kind == "job_ids" else kind, value, "job", number)
            if kind == "nodes":
                stated.column("nodes", value, number)
    return Sidecar(ENVIRONMENT, stated) if stated.statements else None


Fits = Callable[[str, str, str, str], bool]
_READERS: tuple[tuple[Fits, Callable[[str], Sidecar | None]], ...] = (
    (_is_script, _script),
    (lambda path, name, suffix, text: name == "wandb-metadata.json", _machine),
    (lambda path, name, suffix, text: suffix == ".json", _deepspeed),
    (lambda path, name, suffix, text: ".hydra" in PurePath(path).parts[:-1]
        and name in ("config.yaml", "config.yml"), _hydra),
    (lambda path, name, suffix, text: suffix in (".yaml", ".yml"), _wandb),
    (lambda path, name, suffix, text: bool(OF_PACKAGES.fullmatch(name)), _packages),
    (lambda path, name, suffix, text: bool(OF_ENVIRONMENT.fullmatch(name)), _environment),
)  # fmt: skip
