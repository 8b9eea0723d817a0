"""Which files beside a log say what ran, and what each of them says."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath

from ...schema.rows import Rows
from ..coverage import Coverage
from ..environment import is_told, states
from .script import read_script
from .statement import Said, names
from .tree import LARGEST, Leaf, leaves

KIND = "companion"
SCRIPT, DEEPSPEED = "job script", "DeepSpeed configuration"
WANDB, WANDB_MACHINE = "W&B configuration", "W&B machine"
HYDRA, PACKAGES, ENVIRONMENT = "Hydra configuration", "list of packages", "list of the environment"
_SCRIPTS = frozenset((".sh", ".bash", ".sbatch", ".slurm", ".pbs", ".pjm", ".job", ".sub", ".qsub"))
_DIRECTIVE = re.compile(r"^#(?:SBATCH|PJM|PBS)\s", re.M)
_LAUNCHES = re.compile(
    r"^[^#\n]*\b(?:torchrun|deepspeed|mpirun|mpiexec|srun|accelerate|python3?)\b[^\n]*(?:\.py\b|-m\b)",
    re.M,
)
_PACKAGES = re.compile(r"(?:requirements|pip|packages)[\w.-]*\.txt|freeze[\w.-]*\.txt", re.I)
_ENVIRONMENT = re.compile(
    r"(?:env|environ|environment|printenv)[\w.-]*(?:\.txt|\.env)?|\.deepspeed_env", re.I
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
class Companion:
    """What a file is, and what it says."""

    format: str
    said: Said


def may_be_companion(path: str, head: bytes) -> bool:
    """Whether a file is worth looking at, by its name and how it begins."""
    name, suffix = PurePath(path).name, PurePath(path).suffix.lower()
    named = suffix in _SCRIPTS or suffix in (".json", ".yaml", ".yml") or head.startswith(b"#!")
    return named or bool(_PACKAGES.fullmatch(name) or _ENVIRONMENT.fullmatch(name))


def read_companion(path: str, text: str) -> Companion | None:
    """What a file beside a log says, by its name and its text; None for any other file."""
    if len(text) > LARGEST:
        return None
    name, suffix = PurePath(path).name, PurePath(path).suffix.lower()
    for fits, read in _READERS:
        if fits(path, name, suffix, text) and (found := read(text)) is not None:
            return found
    return None


def rows_of(found: Companion, source_id: str, text: str, size: int, errors: int) -> Rows:
    """The rows of a companion: facts of no run yet."""
    rows = Rows()
    for one in found.said.every():
        rows.add("facts", field=one.name, value=one.value, raw=one.value, line=one.line,
                 scope=one.scope, how="stated")  # fmt: skip
    for name, said in found.said.doubtful():
        listed = ", ".join(f"{one.value} (l.{one.line})" for one in said[:4])
        rows.warn("ambiguous", f"{name} is stated as {listed}: none counts", said[0].line)
    lines = text.count("\n") + (not text.endswith("\n"))
    read = len(found.said.lines)
    rows.add("sources", source_id=source_id, kind=KIND, format=found.format, bytes=size,
             lines=lines, lines_read=read, lines_known=max(lines - read, 0), lines_unread=0,
             encoding_errors=errors)  # fmt: skip
    return rows


def coverage(found: Companion) -> Coverage:
    """What was read of it."""
    return Coverage(KIND, found.format, None, 0, len(found.said.lines), 0, 0)


def _is_script(path: str, name: str, suffix: str, text: str) -> bool:
    head = text[:2]
    shell = head == "#!" and re.match(r"#!\s*\S*(?:/|\benv\s+)(?:ba|z|k|da)?sh\b", text) is not None
    named = suffix in _SCRIPTS or (shell and suffix in ("", ".txt", ".in"))
    return named and bool(_DIRECTIVE.search(text) or _LAUNCHES.search(text))


def _script(text: str) -> Companion | None:
    return Companion(SCRIPT, read_script(text))


def _deepspeed(text: str) -> Companion | None:
    found = leaves(text, True)
    if not found or not _OF_DEEPSPEED & {leaf.name for leaf in found}:
        return None
    said = Said()
    given = {}
    for leaf in found:
        said.state(leaf.name, leaf.text, "deepspeed", leaf.line)
        given[leaf.name.replace(".", "_")] = leaf.text, leaf.line
    said.arguments(given, "deepspeed")
    return Companion(DEEPSPEED, said)


def _wandb(text: str) -> Companion | None:
    """Every setting is `name: {desc, value}`."""
    found = leaves(text, False)
    own = [leaf for leaf in found or () if re.fullmatch(r"[^.]+\.value(\..+)?", leaf.name)]
    if not own:
        return None
    said, given = Said(), {}
    for leaf in own:
        name = leaf.name.replace(".value", "", 1)
        if name == "_wandb.python_version":
            said.state("python_version", leaf.text, "version", leaf.line)
        elif not name.startswith("_wandb"):
            said.state(name, leaf.text, "wandb", leaf.line)
            given[name] = leaf.text, leaf.line
    said.arguments(given)
    return Companion(WANDB, said)


def _machine(text: str) -> Companion | None:
    found = leaves(text, True)
    if not found:
        return None
    said = Said()
    told, columns = names("facts"), names("machine")
    words = [leaf.text for leaf in found if re.fullmatch(r"args\.\d+", leaf.name)]
    for leaf in found:
        if leaf.name in told:
            said.state(told[leaf.name], leaf.text, "version", leaf.line)
        if leaf.name in columns:
            said.column(columns[leaf.name], leaf.text, leaf.line)
    said.arguments(_options(words, next((x.line for x in found if x.name == "args.0"), 1)))
    return Companion(WANDB_MACHINE, said)


def _options(words: list[str], line: int) -> dict[str, tuple[str, int]]:
    """`--name value` and `--name=value` of a list of words."""
    given: dict[str, list[str]] = {}
    for word, following in pairwise([*words, "--"]):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            plain = value if equals else "True" if following.startswith("--") else following
            given.setdefault(name.replace("-", "_"), []).append(plain)
    return {name: (said[0], line) for name, said in given.items() if len(set(said)) == 1}


def _hydra(text: str) -> Companion | None:
    found = leaves(text, False)
    if not found:
        return None
    said = Said()
    by_leaf: dict[str, list[Leaf]] = {}
    for leaf in found:
        said.state(leaf.name, leaf.text, "hydra", leaf.line)
        first, _, rest = leaf.name.partition(".")
        if first in ("model", "trainer") and rest:
            by_leaf.setdefault(rest.rpartition(".")[2], []).append(leaf)
    # A name of two places with two values is no statement about the model.
    single = {n: (one[0].text, one[0].line) for n, one in by_leaf.items()
              if len({leaf.text for leaf in one}) == 1}  # fmt: skip
    said.arguments(single, "nemo")
    return Companion(HYDRA, said)


def _packages(text: str) -> Companion | None:
    said, known = Said(), names("packages")
    for number, line in enumerate(text.split("\n"), 1):
        if found := _PIN.match(line.strip()):
            name = known.get(re.sub(r"[-_.]+", "-", found["name"]).lower())
            if name:
                said.state(name, found["version"], "version", number)
    return Companion(PACKAGES, said) if said.statements else None


def _environment(text: str) -> Companion | None:
    said = Said()
    lines = [line for line in text.split("\n") if line.strip()]
    pairs = [found for line in lines if (found := _PAIR.match(line))]
    if len(pairs) < _LEAST_PAIRS or len(pairs) * 5 < len(lines) * 4:
        return None
    for number, line in enumerate(text.split("\n"), 1):
        found = _PAIR.match(line)
        if found and is_told(found["name"]):
            value = found["value"].strip("\"'")
            word = states(found["name"])
            if word is None:
                said.state(found["name"], value, "env", number)
                continue
            said.state("job_id" if word == "job_ids" else word, value, "job", number)
            if word == "nodes":
                said.column("nodes", value, number)
    return Companion(ENVIRONMENT, said) if said.statements else None


Fits = Callable[[str, str, str, str], bool]
_READERS: tuple[tuple[Fits, Callable[[str], Companion | None]], ...] = (
    (_is_script, _script),
    (lambda path, name, suffix, text: name == "wandb-metadata.json", _machine),
    (lambda path, name, suffix, text: suffix == ".json", _deepspeed),
    (lambda path, name, suffix, text: ".hydra" in PurePath(path).parts[:-1]
        and name in ("config.yaml", "config.yml"), _hydra),
    (lambda path, name, suffix, text: suffix in (".yaml", ".yml"), _wandb),
    (lambda path, name, suffix, text: bool(_PACKAGES.fullmatch(name)), _packages),
    (lambda path, name, suffix, text: bool(_ENVIRONMENT.fullmatch(name)), _environment),
)  # fmt: skip
