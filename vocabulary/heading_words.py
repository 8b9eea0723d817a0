"""The words of a heading: quantity, denominator, and words without effect.

`throughput rate (tokens/s/p)` and `Tokens per second per GPU` are both tokens / s / device. An
unknown word may change the quantity, so it leaves the heading unread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from .package_toml import declared
from .spelling import meant

_TOKEN = re.compile(r"[a-z]+|[/%#]|\d+|[^\W\d_]+")
_PER = frozenset({"/", "per"})
_COUNT = "count"
_ONE_DEVICE = frozenset({"p", "rank"})  # a process has one
_PER_ONE = frozenset({"step", "update", "node", "core", "batch"}) | _ONE_DEVICE
_COUNTED = frozenset({"tokens", "samples", "sequence"})
_SHARES = frozenset({"mfu", "hfu"})
_TIMES = ("s", "ms", "us", "min", "h")
_DEVICES = frozenset({"gpu", "chip"})
# `tokens/s (8 GPUs)`: the rate of all of them
_OF_ALL = re.compile(
    r"[(\[]\s*(?:all\s+)?\d{1,6}\s*[x×]?\s*(?:gpu|npu|tpu|chip|device|card|[a-z]{1,3}\d{1,3}[a-z]{0,2})s?\s*[)\]]"
)
_BRACKETS = re.compile(r"[(\[（][^()\[\]（）]*[)\]）]")
_ANY_RATE = re.compile(r"\b(?:performance|speed|throughput|achieved)\b", re.I)
# `avg_last10_tokens_sec`, `tok/s (last 1K steps)`, `step p50`, `end-to-end samples/s`: of what is
# measured these say how long, or that it is whole.
_WINDOW = re.compile(
    r"(?<![a-z])(?:last[ _-]?\d{1,6}k?(?:[ _-]?(?:steps?|iter(?:ation)?s?))?|p50"
    r"|mean ?(?:±|\+/-) ?(?:std|sd)(?:\.? ?dev\.?)?"
    # `steps 10-50`; from the first step on, compilation is in it
    r"|(?:steps?|iter(?:ation)?s?) ?(?:[2-9]|\d{2,7}) ?(?:-|–|to|\.\.) ?\d{1,7}"
    # such a time may be that of all steps
    r"|(?:end[ _-]?(?:to|2)[ _-]?end|e2e)(?![ _-]{0,2}(?:time|latency|duration)))(?![a-z0-9])",
    re.I,
)
_MEAN_OF = re.compile(r"\W*(?:avg|average|mean|median)\W*[(\[]\s*([^()\[\]]{3,40})[)\]]\W*", re.I)
_AT_STEP = re.compile(r"(?<!\s)\s*(?:@|\bat)\s*(?:step|iter(?:ation)?)\s*\d+\s*$", re.I)
# `train.gradient_accumulation_steps`; `rollout.tensor_parallel_size` is of generation.
_KEY = re.compile(
    r"\s*(?:train(?:er|ing)?|data(?:set)?|model|optim(?:izer)?|parallel(?:ism)?|args|config|cfg)"
    r"\.[a-z]\w{0,60}\s*",
    re.I,
)
_DRESS = re.compile(r"<[^<>]{1,80}>|[*`†‡¹²³⁴]|__|\[\^[\w-]{1,20}\]")
_NAME = re.compile(r"[A-Za-z_]+")
_GLUED = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])|_")  # numGpus, tokens_per_sec


@dataclass(frozen=True, slots=True)
class HeadingWords:
    """The words of a heading: `of` before and `per` after the slash, in one spelling each."""

    of: frozenset[str]
    per: frozenset[str]

    @property
    def time_unit(self) -> str | None:
        """The single unit of time in it."""
        times = [unit for unit in _TIMES if unit in self.of]
        return times[0] if len(times) == 1 else None


@dataclass(frozen=True, slots=True)
class _Meaning:
    column: str
    of: frozenset[str]
    may: frozenset[str]
    per: frozenset[str]
    per_may: frozenset[str]

    def fits(self, words: HeadingWords) -> bool:
        """Whether the heading has all required words, and no forbidden ones."""
        return (
            self.names(words) and words.of <= self.of | self.may and self._per(words, self.per_may)
        )

    def names(self, words: HeadingWords) -> bool:
        """Whether the heading has all required words."""
        return self.of <= words.of and self._has(self.per, words.per)

    def _per(self, words: HeadingWords, may: frozenset[str]) -> bool:
        allowed = self.per | may
        return words.per <= allowed | (_DEVICES if "device" in allowed else frozenset())

    def _has(self, wanted: frozenset[str], per: frozenset[str]) -> bool:
        devices = per & _DEVICES
        return wanted - {"device"} <= per and ("device" not in wanted or bool(devices))


_WIDE = str.maketrans("（）：／，", "():/,")  # punctuation of Chinese and Japanese
_ALL_RATES = frozenset({"tps", "throughput", "tgs"})
_NOTHING = HeadingWords(frozenset(), frozenset())


def translated(heading: str) -> str:
    """The heading with words of other languages in English."""
    if heading.isascii():
        return heading
    heading = heading.translate(_WIDE)
    return _foreign().sub(lambda match: f" {_file()['translations'][match[0]]} ", heading).strip()


@lru_cache(1 << 11)
def meaning_of(heading: str) -> tuple[str, HeadingWords] | None:
    """The column meant by all words of a heading; None if one is unknown."""
    words = _words_of(heading)
    found = {meaning.column for meaning in _meanings() if meaning.fits(words)}
    if len(found) == 1:
        column = found.pop()
        # `%HBM`: a share, which only a utilization is
        return None if "%" in heading and column not in _SHARES else (column, words)
    if _words_of(_BRACKETS.sub(" ", heading)) == _NOTHING and _ANY_RATE.search(translated(heading)):
        return "throughput", words  # `Training performance`: its cells name the quantity
    return None


def quantities_in(heading: str) -> set[str]:
    """The columns whose words a heading has among others: its subject, if not its meaning."""
    words = _words_of(heading)
    return {meaning.column for meaning in _meanings() if meaning.names(words)}


def is_total(heading: str) -> bool:
    """Whether a heading states the whole job: `Total tokens/s`, `tokens/s (8 GPUs)`."""
    words = _words_of(heading)
    return "job" in words.of and ("s" in words.per or bool(_ALL_RATES & words.of))


def is_per_device(heading: str) -> bool:
    """Whether a heading states one device: `TFLOP/s/GPU`."""
    return bool(_DEVICES & _words_of(heading).per)


def _words_of(heading: str) -> HeadingWords:
    plain = _OF_ALL.sub(" total ", _unglued(translated(heading)).lower())
    of: set[str] = set()
    per: set[str] = set()
    behind = False
    before, bare = "", not set("([") & set(plain)
    for word in _parts(without_window(plain)):
        if word in _PER:
            behind = True
            continue
        behind = behind or (bare and _is_unmarked(before, word))
        before = word
        if behind and word in _neutral() | {"job"}:
            if word == "job":
                of.add(word)
            continue
        if behind and (word in _TIMES or word in _DEVICES or word in _PER_ONE):
            per.add("gpu" if word in _ONE_DEVICE else word)
        elif word not in _neutral():
            of.add(word)
        behind = False
    return HeadingWords(frozenset(of), frozenset(per))


def undressed(heading: str) -> str:
    """The heading in English, without marks, footnotes, windows of means and sections of keys."""
    plain = _quantity_of(without_window(_AT_STEP.sub("", translated(_DRESS.sub(" ", heading)))))
    return plain.rpartition(".")[2] if _KEY.fullmatch(plain) else plain


def _quantity_of(heading: str) -> str:
    """The quantity in brackets behind words for a mean alone: `Avg (TFLOPS/GPU)`."""
    found = _MEAN_OF.fullmatch(heading)
    return found[1] if found else heading


def without_window(heading: str) -> str:
    """The heading without words for the window of a mean."""
    return _WINDOW.sub(" ", heading)


def _unglued(heading: str) -> str:
    """The heading with identifiers split into words; `ZeRO` is one."""
    return _NAME.sub(
        lambda match: match[0] if match[0].lower() in _known_words() else _GLUED.sub(" ", match[0]),
        heading,
    )


def _is_unmarked(before: str, word: str) -> bool:
    """Whether a word follows an implicit slash: `tokens_sec_gpu`, `tflops_gpu`."""
    return (before in _COUNTED and word == "s") or (before in ("s", "tflops") and word in _DEVICES)


def _parts(text: str) -> Iterator[str]:
    spelled = _spelled()
    for word in _TOKEN.findall(text):
        if word == "#":
            yield _COUNT
        elif word != "%":
            right = word if word in spelled else meant(word, _known_words()) or word
            yield spelled.get(right, right)


@cache
def _meanings() -> tuple[_Meaning, ...]:
    keys = ("of", "may", "per", "per_may")
    return tuple(
        _Meaning(entry["column"], *(frozenset(entry.get(key, ())) for key in keys))
        for entry in _file()["means"]
    )


@cache
def _spelled() -> dict[str, str]:
    return {other: word for word, others in _file()["spelled"].items() for other in (word, *others)}


@cache
def _known_words() -> frozenset[str]:
    """All words with a meaning, for the correction of misspellings."""
    meanings = (
        words
        for meaning in _meanings()
        for words in (meaning.of, meaning.may, meaning.per, meaning.per_may)
    )
    return frozenset().union(_spelled(), _neutral(), *meanings)


@cache
def _neutral() -> frozenset[str]:
    return frozenset(_file()["neutral"]["words"])


@cache
def _foreign() -> re.Pattern[str]:
    longest_first = sorted(_file()["translations"], key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)))


@cache
def _file() -> Mapping[str, Any]:
    return declared(__package__ or "bench.vocabulary", "words.toml")
