"""A line outside tables that sets values, states the TFLOPs formula, or names the machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...vocabulary.cell_words import without_links
from ...vocabulary.prefilter import HintedPattern
from ...vocabulary.sizes import find_size
from .clauses import facts_by_subject, without_subjects
from .commands import arguments_in, launched
from .context import devices_named, machine_facts, phrases_in, setting_field, sizes_in, typed_facts
from .device_counts import counted
from .fact import Fact
from .formula_lines import one_liner
from .parameter_lists import explained
from .subjects import without_subject

# `TP=8`, `TP: 8`, `TP is 8` and `TP 8`: a value is one word.
_KEY_VALUE = re.compile(
    r"^(?:--)?(?P<key>[A-Za-z_][A-Za-z_ .-]{0,80}?)(?P<sign>\s*[=:]\s*|\s+is\s+|\s+)"
    r"(?P<value>[^\s=:]+)$"
)
_ARGUMENT = re.compile(r"^--(?P<key>[a-z][a-z-]*)(?P<sign>\s+|=)(?P<value>\S+)$")
_GLUED = re.compile(r"^(?!FSDP[12]$)(?P<key>[A-Z]{2,4})(?P<sign>)(?P<value>\d{1,5})$")  # PP8
# Parts of a line that state a number without a name in front.
_COUNT_OF = re.compile(r"^(?P<number>\d{1,6})\s+(?P<what>node|replica|gpu)s?$", re.I)
# `2 nodes x 4 GPUs`
_SQUARE = re.compile(
    r"^\d{1,5}\s(?:node|host|server|machine)s?\s?[x×*]\s?\d{1,3}\s[A-Za-z]\w{0,11}$", re.I
)
_COUNTED = {"node": "nodes", "replica": "dp", "gpu": "devices"}
_STEPS = re.compile(
    r"^(?P<number>\d[\d,]{0,15}(?:\.\d{1,9})?)\s*+(?P<scale>[kKmM])?\s*+(?:steps|iterations|iters)$",
    re.I,
)
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_LAUNCH = re.compile(r"^\s*(?:\$\s*)?(?:salloc|sbatch|srun|#SBATCH)\b")
_OF_NODES = re.compile(r"node|\b(?:hosts?|servers?|machines?)\b", re.I)
# Where a setting begins without a mark before it: `NLAYERS=94 Model size: 203B`.
_NEXT = re.compile(
    r"([=:][ ]?[^\s=:,;]+)[ ](?=[A-Za-z_]\w{0,30}(?:[ ][A-Za-z]\w{0,30})?[ ]?[=:](?!=))"
)
_ASSIGNMENT = re.compile(r"^[\w.-]{1,60}\s?=\s?\S+$")  # of a name that is no field
_VALUE = re.compile(r"^[\d.e+-]+[kKmM]?$")  # a further value of the setting before it
_BETWEEN = re.compile(r"[,;|()⇒→]|[=-]>|\s/\s|\.\s")
# `length: 8,192` is one number; `GBS: 256,512` may be two.
_GROUPED = re.compile(r"((?:length|vocab\w*)\s?[:=]\s?\d{1,3}),(\d{3})(?![\d,])", re.I)
_REMARK = re.compile(r"(?<!\s)\s?\([^()=\d]{1,120}\)$")  # `Length: 8,192 (without padding)`
# A result: `Training llama-3b on 4x RTX 3090: ~6300 tokens per second`.
_MEASURED = HintedPattern(
    r"\d[ ~]{0,2}(?:[kKM] ?)?(?:tokens?|tok|samples?|sequences?|it|steps?)(?: ?/ ?| per )"
    r"(?:s|sec|gpu|device)"
    r"|\d ?[TP]?flop/?s\b|\bmfu\b[^.]{0,20}\d|\d%? mfu\b",
    re.I,
)
_ABOVE = HintedPattern(r"\(\s*(?:for\s+)?(?:the\s+)?above(?:,?\s*too)?\s*\)|\babove,? too\b", re.I)
_LEADING = re.compile(r"^(?:all|with|using|export|set|and)\s+", re.I)
_FOR_ALL = HintedPattern(
    r"(?<!\s)\s++(?:in|for)\s++all(?:\s++of)?(?:\s++the)?\s++(?:entries|rows|runs|tables|experiments)$",
    re.I,
)
_WORDED = re.compile(r"^[^=:]{1,60}\sis\s+\S+\s*$")
_CAPTION = re.compile(r"^\W{0,6}(?:table|tab\.|figure|fig\.)\s?\d", re.I)
# Words of a sentence, which mentions settings and sets none.
_SENTENCE = re.compile(
    r"\b(?:we|i|you|they|it|this|these|there|is|are|was|were|be|been|has|have|had|do|does|did|can|could"
    r"|may|might|would|should|will|if|when|while|because|since|so|which|what|but|not|than|that|let|try"
    r"|needs?|gives?|breaks?)\b",
    re.I,
)
# `Strategies: single GPU, DP2, TP2`: each of these by itself.
_ALTERNATIVES = HintedPattern(
    r"\b(?:strategies|modes|variants|alternatives|choices|combinations)\b[^:]{0,20}:", re.I
)
# A command that computes: its inputs need not be those of a run.
_COMPUTES = HintedPattern(r"\bpython3?\s+-c\b|\bperl\s+-|\bawk\b|\becho\b|\|\s*bc\b")
_LISTED = 3  # settings of a line that is one of settings, among any number of other words
_LONGEST = 400  # characters of a line that sets values; a longer one is a dump


@dataclass(frozen=True, slots=True)
class LineFacts:
    """The facts of a line: a configuration, else a formula, else devices that it mentions."""

    configuration: list[Fact]
    formula: list[Fact]
    section: list[Fact]  # facts that apply from here to the end of the section
    mentions: list[Fact]  # facts for the whole document, unless another line contradicts


@dataclass(frozen=True, slots=True)
class _Part:
    """The facts of a part of a line; `sets`: by name and value; `marked`: with a sign between."""

    facts: list[Fact]
    sets: bool = False
    marked: bool = False


def line_facts(text: str, line: int) -> LineFacts:
    """The facts of a line outside tables.

    A device that it mentions applies to the section only if the line names nodes or starts a job:
    prose names devices for many other reasons.
    """
    facts = configuration(text, line) or explained(text, line)
    started = launched(text, line)
    if facts:
        facts = without_subjects(facts, facts_by_subject(text, line))
        return LineFacts(facts, [], [*facts, *started], facts)
    formula, machine = one_liner(text, line), machine_facts(text, line, "line")
    of_nodes = is_launch(text) or bool(_OF_NODES.search(text))
    section = formula or [*(machine if of_nodes else []), *started]
    mentions = [*machine, *devices_named(text, line)]
    if states_result(text) and len(sizes := {size for _, size in sizes_in(text)}) == 1:
        mentions = [replace(mention, only_size=min(sizes)) for mention in mentions]
    return LineFacts([], formula, section, mentions)


def states_result(text: str) -> bool:
    """Whether a line states a result: the devices in it are of that result alone."""
    return bool(_MEASURED.search(text))


def configuration(text: str, line: int) -> list[Fact]:
    """The facts of a line that sets values (`20B model: TP=8, PP=1, GBS=2048`), part by part.

    A part that is not understood is skipped alone; a sentence, a quotation and a line that
    computes set nothing.
    """
    if len(text) > _LONGEST or text.lstrip().startswith(">"):
        return []
    if _COMPUTES.search(text) or _ALTERNATIVES.search(text):
        return []
    arguments = [] if is_launch(text) else arguments_in(text)
    parts = arguments or list(_parts(text))
    read = _read_parts(parts, text, line)
    known = [part for part in read if part]
    unknown = [
        part
        for part, one in zip(parts, read, strict=True)
        if not (one or arguments or _ASSIGNMENT.match(part) or _VALUE.match(part))
    ]
    sentences = sum(bool(_SENTENCE.search(part)) for part in unknown)
    few = len(known) < _LISTED
    if (few and len(unknown) > len(known)) or (sentences and 2 * sentences >= len(known)):
        return []
    if few and len(unknown) == len(known):  # `layers 3` among other words sets nothing
        known = [part for part in known if part.marked]
    return (
        _of_its_size(_unambiguous([fact for part in known for fact in part.facts]))
        if any(part.sets for part in known)
        else []
    )


def reaches_back(text: str) -> bool:
    """Whether a configuration line also applies to the tables above: `(for the above)`."""
    return bool(_ABOVE.search(text))


def of_all_rows(text: str) -> bool:
    """Whether a configuration line applies to every row of its section: `... in all entries`."""
    return bool(_FOR_ALL.search(re.sub(r"[`*]", "", text).rstrip()))


def is_worded(text: str) -> bool:
    """Whether an item of a list states a setting in words (`- Seq length is 1024`)."""
    return bool(_BULLET.match(text) and _WORDED.search(text))


def is_caption(text: str) -> bool:
    """Whether a line is the caption of one table."""
    return bool(_CAPTION.match(text))


def is_launch(text: str) -> bool:
    """Whether a line is an allocation command."""
    return bool(_LAUNCH.match(text))


def _parts(text: str) -> Iterator[str]:
    body = without_links(_ABOVE.sub("", _BULLET.sub("", without_subject(text))))
    body = re.sub(r"(?<!\s)\s++#.*$|[`*]", "", body).strip().rstrip(":,\\").strip()
    body = _GROUPED.sub(r"\1\2", _REMARK.sub("", body))
    body = re.sub(r"\s+", " ", body)  # runs of blanks make patterns slow
    head, colon, rest = body.partition(": ")
    if colon and not re.search(r"[=(]", head) and (find_size(head) or "=" in rest):
        yield head
        body = rest
    for part in _BETWEEN.split(_NEXT.sub(r"\1;", body)):
        if part.strip():
            yield _FOR_ALL.sub("", _LEADING.sub("", part.strip())).rstrip(".")


def _read_parts(parts: Sequence[str], text: str, line: int) -> list[_Part | None]:
    """The facts of each part; None for a setting with several values (`mbs=2,3`)."""
    read = [_read(part, text, line) for part in parts]
    for at, part in enumerate(parts[1:]):
        before = read[at]
        if _VALUE.match(part) and before and before.marked:
            read[at] = None
    return read


def _read(part: str, text: str, line: int) -> _Part | None:
    """The facts of one part of a line; None if it states none."""

    def of(field: str, value: str) -> list[Fact]:
        return [Fact(field, value, text.strip(), line, "line")]

    label, count, steps = _lone_size(part), _COUNT_OF.match(part), _STEPS.match(part)
    if label:
        return _Part(of("size", label))
    if _SQUARE.match(part):
        square = [fact for one in counted(part, line) for fact in of(one.field, one.value or "")]
        return _Part(square, sets=True) if square else None
    if count:
        return _Part(of(_COUNTED[count["what"].lower()], count["number"]), sets=True)
    if steps:
        scale = {"k": 1e3, "m": 1e6}.get((steps["scale"] or "").lower(), 1)
        number = float(steps["number"].replace(",", "")) * scale
        return _Part(of("steps", str(round(number))), sets=True)
    pair = _ARGUMENT.match(part) or _KEY_VALUE.match(part) or _GLUED.match(part)
    field = setting_field(pair["key"]) if pair else None
    if not pair or not field:
        return _read_words(part, text, line)
    facts = typed_facts(field, pair["value"], text, line)
    return _Part(facts, sets=True, marked=bool(pair["sign"].strip())) if facts else None


def _read_words(part: str, text: str, line: int) -> _Part | None:
    """The facts of a part of a few words, by its phrases (`full activation checkpointing`)."""
    if len(part.split()) > 4 or _SENTENCE.search(part):
        return None
    facts = [replace(fact, raw=text.strip()) for fact in phrases_in(part, line, "line")]
    facts = [fact for fact in facts if fact.field not in ("size", "device_memory") and fact.value]
    return _Part(facts) if facts else None


def _lone_size(part: str) -> str | None:
    found = find_size(part)
    if not found or "=" in part:
        return None
    words = part.replace(found[0], " ", 1).split()
    versions = [word for word in words if re.search(r"\d", word)]
    known = all(re.fullmatch(r"\d(?:\.\d)?", word) for word in versions)
    of_model = not re.search(r"\b(?:tokens?|per)\b", part, re.I)
    return found[0] if len(words) <= 3 and known and of_model else None


def _of_its_size(facts: Sequence[Fact]) -> list[Fact]:
    """The facts, bound to the size that the line names."""
    if all(fact.field == "size" for fact in facts):
        return []
    size = next((fact.value for fact in facts if fact.field == "size"), None)
    named = find_size(size) if size else None
    only = named[1] if named else None
    return [replace(fact, only_size=only) if fact.field != "size" else fact for fact in facts]


def _unambiguous(facts: Sequence[Fact]) -> list[Fact]:
    """The facts of fields with a single value in the line."""
    values: dict[str, set[str | None]] = {}
    for fact in facts:
        values.setdefault(fact.field, set()).add(fact.value)
    return [fact for fact in dict.fromkeys(facts) if len(values[fact.field]) == 1]
