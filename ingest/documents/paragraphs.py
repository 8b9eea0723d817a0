"""Facts about runs in the paragraphs of a document: sentence by sentence, lists item by item.

A paragraph away from a table mentions much that no run had. Conjectures, comparisons and advice
are skipped; tables inherit the other facts if they agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...vocabulary.cell_words import without_links
from ...vocabulary.headings import LONGEST
from ...vocabulary.sizes import find_size
from .clauses import facts_by_subject, is_installed, without_subjects
from .context import is_aside, sizes_in
from .context_lines import LineFacts, configuration, line_facts, states_result
from .fact import Fact
from .frameworks import begins_with_trainer, framework_named
from .markdown import Heading, TextLine
from .model_families import families_in
from .other_subjects import without_others
from .prose import lead_facts, unambiguous
from .subjects import of_subject

# Marks of lists, with the box of a task.
BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
# A line that begins with its name: `**Nodes:** a-[1-4]`, `Hardware: 8x H100`
LABELLED = re.compile(r"^\s*(?:\*\*[^*]{1,40}:\*\*|\*\*[^*]{1,40}\*\*\s?:|[A-Z][\w /()-]{0,30}:)\s")
_END = re.compile(r"(?<=[.!?;])\s+(?=[A-Z`*(\d])")
# Conjectures, comparisons, advice and the work of others are no settings of a run.
_NO_STATEMENT = re.compile(
    r"\b(?:would|could|should|may|might|can|cannot|if|unless|suppose|e\.g|for example|for instance"
    r"|such as|up to|defaults?|recommend\w*|try|increas\w+|decreas\w+|reduc\w+|requires?|required"
    r"|needs?|instead|rather than|compar\w+|versus|vs|unlike|than|faster|slower|supports?|supported"
    r"|allows?|either|future|plan\w*|will|want|expect\w*|estimat\w+|theoretical\w*|projected"
    r"|original\w*|so|reference|highest|lowest|previous\w*|papers?|baselines|another|other|not|never|until|beyond|larger|smaller|requests?)\b"
    r"|\?",
    re.I,
)
# An exception to a statement about all runs.
_UNLESS = re.compile(
    r"\b(?:unless|except where|if not)\s(?:\w+\s)?(?:stated|noted|specified|mentioned|given)\b",
    re.I,
)
_OF_A_MODEL = frozenset(
    ("size", "layers", "hidden", "heads", "kv_heads", "ffn_hidden", "vocab", "vocab_label")
)
_INHERITED = _OF_A_MODEL | frozenset(
    re.findall(
        r"\w+",
        "seq_len dtype zero_stage recompute mbs gbs grad_accum tp pp cp ep vpp dp devices nodes"
        " dp_shard dp_replicate devices_per_node device framework",
    )
)
_NAMES_OF = ("framework", "size", "device")
_OF_SUMS = frozenset(("fp32", "tf32"))
_RAN_IN = re.compile(
    r"\b(?:performed|ran|run|runs|trained|done|executed|conducted|measured)\s(?:\w+\s){0,2}(?:in|with|using)\s"
    r"(?:full\s)?(?:fp|tf|float)-?32\b",
    re.I,
)
# `Table 1: ...`, a line set in italics or small, one in brackets, `Note:`
_CAPTION = re.compile(
    r"^\W{0,6}(?:table|tab\.|figure|fig\.)\s?\d|^\s*(?:\*(?!\*)[^*]|_[^_])|^\s*\(|^\s*<(?:sub|small|i|em|p)\b"
    r"|^[^.(]{0,40}\b(?:our|this|the)\s(?:set-?up|hardware|machine|cluster|node)\s?\("
    r"|^\W{0,6}(?:notes?|settings?|set-?up|hardware|config(?:uration)?|environment|conditions)\s?:",
    re.I,
)
# The beginning of a sentence about how the numbers above were measured.
_OF_NUMBERS = re.compile(
    r"^\W{0,6}(?:all\s|these\s|the\s(?:above|numbers|results|table|measurements|runs)|above\b|results?\b"
    r"|numbers?\b|measure[ds]|measurements?\b|benchmark(?:s|ed)?\b|tested\b|collected\b|obtained\b|recorded\b"
    r"|we\s(?:\w+ly\s)?(?:use|ran|run|train|measure|benchmark|test)\w*\b|(?:experiments?|runs?|trainings?)\s)",
    re.I,
)
_COMMANDS = re.compile(r"\b(?:commands?|benchmark\w*|reproduc\w+|configurations?|launch)\b", re.I)
# Words of a sentence about how runs were made.
_OF_RUNS = re.compile(
    r"\b(?:we|our|was|were|ran|runs?|trained|training|pre-?train\w*|fine-?tun\w+|measure\w*|tested|tests|benchmark\w*"
    r"|reports?|results?|experiments?|throughput|numbers|performance|use[sd]?|using|all|models?|jobs?|node|cluster)\b",
    re.I,
)
# Methods are described more often than used.
_DESCRIBED = frozenset(("recompute", "zero_stage"))
_WE = re.compile(
    r"\b(?:we|our|was|were|ran|trained|pre-?trained|pre-?training|measured|tested|benchmark\w*|reports?|all|numbers)\b",
    re.I,
)
_MADE = re.compile(
    r"\b(?:trained|ran|run|measured|tested|benchmark\w*|reports?|results?|experiments?|pre-?train\w*"
    r"|fine-?tun\w+|performance|train)\b",
    re.I,
)
_FEW_WORDS = 12  # of an item or a fragment that needs no verb
_SETTINGS = re.compile(
    r"\W{0,6}(?:[\w-]+\s){0,4}(?:settings?|set-?up|configurations?|hyper-?parameters|environment|hardware|conditions|details)"
    r"(?:\sused)?\W{0,6}",
    re.I,
)
_BASE = re.compile(r"(?:pytorch|torch|jax|cuda|rocm)\b", re.I)
_LONGEST = 12  # lines of a paragraph about the table above
# Sections that describe programs and other people's work.
_NO_RUNS = re.compile(
    r"\b(?:requirements?|prerequisites|install\w*|features?|roadmap|news|change ?log|citations?|faq"
    r"|troubleshooting|contents|motivation|background|theory|limitations?|options|arguments|usage"
    r"|examples?|tutorial|quick ?start|getting started|licen[sc]e|acknowledg\w+|references?"
    r"|contribut\w+|docker|datasets?|data|tokeni[sz]er|evaluation|inference|serving|deploy\w*"
    r"|analysis|conclusions?|discussion|takeaways?|observations?|lessons?|next steps)\b",
    re.I,
)
_ONE_RUN = re.compile(
    r"\b(?:experiment|exp|run|trial|case|phase|stage|step|task|round|day|attempt|option|plan)\s?#?\d"
    r"|\b(?:experiment|exp|run|trial|phase|option|plan|case)\s(?-i:[A-Z])\b(?!')"
    r"|\b(?:another|others?|different|second|third)\s(?:\w+\s)?"
    r"(?:experiments?|models?|runs?|trainings?|clusters?|machines?|set-?ups?)\b",
    re.I,
)


@dataclass(slots=True)
class ParagraphState:
    """The paragraph that a reader of a document is in."""

    lines: list[TextLine] = field(default_factory=list)
    is_aside: bool = False  # the last line of prose introduces an example or a plan
    of_others: bool = False  # the last sentence is about others, and continues
    announced: bool = False  # the paragraph before this one announced settings
    of_size: float | None = None  # of the model whose settings are listed

    def goes_on(self, line: TextLine) -> bool:
        """Whether a line is the next one of this paragraph."""
        return bool(self.lines) and self.lines[-1].line == line.line - 1

    def classified(self, line: TextLine) -> tuple[TextLine, LineFacts]:
        """A line without what it says of others, and what it states; it may begin an aside."""
        if line.code:
            return line, line_facts(line.text, line.line)
        if not BULLET.match(line.text):
            self.of_size = announced_size(line.text)
        aside = is_aside(line.text, "lines") and not line.text.rstrip().endswith(".")
        text, self.of_others = without_others(line.text, bool(self.lines) and self.of_others)
        read = line_facts(text, line.line)
        if not read.configuration:
            self.is_aside = aside
        return replace(line, text=text), read

    def sized(self, fact: Fact) -> Fact:
        """A fact of the model whose settings are listed, if it names no other."""
        return replace(fact, only_size=fact.only_size or self.of_size)


def sentences(lines: Sequence[TextLine]) -> Iterator[tuple[str, int]]:
    """The sentences of a paragraph, each item of a list by itself, with the line of each."""
    unit: list[str] = []
    first = 0
    for line in lines:
        text = without_links(line.text)
        if unit and (BULLET.match(text) or LABELLED.match(text)):
            yield from _split(unit, first)
            unit = []
        if not unit:
            first = line.line
        unit.append(BULLET.sub("", text).strip())
    yield from _split(unit, first)


# `**Hardware:** 16-chip TPU v4 pod slice (...)` is about the runs by its label.
_LABELLED = re.compile(
    r"\W{0,6}(?:hardware|set-?up|environment|config(?:uration)?|system|cluster|platform|硬件|环境|配置)\W{0,3}[:：]",
    re.I,
)


def stated_in(lines: Sequence[TextLine], *, only: re.Pattern[str] | None = None) -> list[Fact]:
    """The facts about runs in a paragraph; `only`: in sentences that match."""
    facts: list[Fact] = []
    for text, line in sentences(lines):
        text = _UNLESS.sub("", text)
        if (only and not only.search(text)) or _NO_STATEMENT.search(text):
            continue
        of_runs = _OF_RUNS.search(text) or _LABELLED.match(text) or configuration(text, line)
        if len(text.split()) > _FEW_WORDS and not of_runs:
            continue
        own = of_subject(_of_sentence(text, line), text)
        facts += without_subjects(own, facts_by_subject(text, line))
    group = lines[0].line if lines else 0
    if not any(BULLET.match(line.text) for line in lines):  # another sentence may contradict
        whole = " ".join(line.text.strip() for line in lines)
        kept = {fact.field for fact in (*lead_facts(whole, group), *configuration(whole, group))}
        kept |= {*_NAMES_OF, *(fact.field for fact in facts if fact.only_named)}
        facts = [fact for fact in facts if fact.field in kept]
    return [replace(fact, group=group) for fact in facts]


def is_no_statement(text: str) -> bool:
    """Whether a sentence is a conjecture, a comparison, advice or about the work of others."""
    return bool(_NO_STATEMENT.search(text))


def below_table(lines: Sequence[TextLine]) -> list[Fact]:
    """The facts below a table: in its caption, or a paragraph on how its numbers were measured."""
    if len(lines) > _LONGEST or not lines:
        return []
    only = None if _CAPTION.search(lines[0].text) else _OF_NUMBERS
    facts = [fact for fact in stated_in(lines, only=only) if fact.field != "size" or only is None]
    # What a caption says of the model that it names is of the rows of this model.
    return [fact for fact in unambiguous(facts) if fact.only_size is None or only is None]


def shows_commands(heading: Heading | None) -> bool:
    """Whether code below a heading started the runs, and is no example."""
    return heading is not None and bool(_COMMANDS.search(heading.text))


def announces_settings(text: str) -> bool:
    """Whether a line only announces settings: `Settings:`."""
    return bool(_SETTINGS.fullmatch(text))


def announced_size(text: str) -> float | None:
    """The size of the model whose settings a line announces: `Llama-3-8B architecture:`."""
    sizes = set(_sizes(text.replace("-", " "))) if text.rstrip(" *_").endswith(":") else set()
    return sizes.pop() if len(sizes) == 1 else None


def agreed(facts: Sequence[Fact]) -> list[Fact]:
    """The facts of fields with a single value; of names that extend each other the longest."""
    fullest: list[Fact] = []
    for name in ("device", "framework"):
        named = [fact for fact in facts if fact.field == name]
        # The library below a trainer is named with it.
        named = [fact for fact in named if not _BASE.match(fact.value or "")] or named
        longest = max(named, key=lambda one: len(one.value or ""), default=None)
        if longest and all(_is_part(fact.value or "", longest.value or "") for fact in named):
            fullest.append(longest)
    others = [fact for fact in facts if fact.field not in ("device", "framework")]
    return [*unambiguous(others), *fullest]


def applies_outside(heading: str) -> bool:
    """Whether facts of a section without tables can apply to tables of other sections."""
    return not (_NO_RUNS.search(heading) or is_of_one(heading))


def is_of_one(heading: str) -> bool:
    """Whether a heading names one model or one run among several."""
    return bool(_ONE_RUN.search(heading) or find_size(heading))


def _is_part(name: str, longest: str) -> bool:
    return longest.lower().startswith(name.lower())


def _split(unit: Sequence[str], line: int) -> Iterator[tuple[str, int]]:
    text = " ".join(unit)
    if text:
        # As a line of such a length, a sentence is kept and not read.
        yield from ((one, line) for one in _END.split(text) if len(one) <= LONGEST)


def _of_sentence(text: str, line: int) -> Iterator[Fact]:
    """The facts of a sentence; those about one model are bound to its size."""
    set_here = configuration(text, line)
    named = {fact.field for fact in set_here}
    more = [fact for fact in lead_facts(text, line) if fact.field not in named]
    ran = bool(_RAN_IN.search(text))
    found = [
        fact
        for fact in (*set_here, *more)
        if fact.field in _INHERITED and (ran or fact.value not in _OF_SUMS)
    ]
    if is_installed(text):
        found = [fact for fact in found if fact.field not in ("devices", "nodes", "dp")]
    if len(families_in(text)) > 1:
        found = [fact for fact in found if fact.field not in _OF_A_MODEL]
    if not any(fact.field == "framework" for fact in found) and (
        _is_fragment(text) or _MADE.search(text) or _WE.search(text) or begins_with_trainer(text)
    ):
        found += framework_named(text, line)
    labels = set(_sizes(text))
    only = labels.pop() if len(labels) == 1 else None
    measured = states_result(text)
    for fact in found:
        if fact.field in _OF_A_MODEL and labels:
            continue  # of which model is not stated
        if fact.field in _DESCRIBED and not (_WE.search(text) or _is_fragment(text)):
            continue
        everywhere = fact.field in ("size", "framework") or (
            fact.field == "device" and not measured
        )
        bound = None if everywhere else only
        yield replace(fact, scope="line", only_size=fact.only_size or bound)


def _is_fragment(text: str) -> bool:
    """Whether a text is a few words, not a sentence."""
    return len(text.split()) <= _FEW_WORDS and not text.rstrip().endswith(".")


def _sizes(text: str) -> Iterator[float]:
    yield from (size for _, size in sizes_in(text))
