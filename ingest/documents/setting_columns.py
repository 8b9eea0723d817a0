"""Which columns under unknown headings set their rows apart, and which measure or name them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...vocabulary.headings import unread_results
from ...vocabulary.sizes import giga_of, parse_size
from .environment_columns import variable_of

DRESS = re.compile(r"[*`†‡]|\[\^[\w-]{1,20}\]")
MISSING = re.compile(r"[-/]*|–|—|n/?a|\?+|tbd", re.I)
_SIZE = re.compile(r"[\d.]+\s?[BM]\d*", re.I)
_NUMBER = re.compile(
    r"[~≈<>]?\s*[-+]?\d[\d,]*(?P<point>\.\d+)?(?:e[-+]?\d+)?\s*(?:[^\W\d_][^\W\d_/]*(?:/\w+)?|%)?",
    re.I,
)
_LINK = re.compile(r"\[[^\[\]]{1,80}\]\(|https?://")
_DIFFERENCE = re.compile(r"[-+−]\s?\d[\d.,]*\s?%")  # from another column, or from one row
_REFERENCE = re.compile(r"\(?(?:control|base(?:line)?|ref(?:erence)?)\)?", re.I)
_BEGINS_WITH_NUMBER = re.compile(r"[~≈<>]?\s*\d")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_REPEATS = _words("trial trials repeat repeats repetition rep reps replicate seed seeds attempt")
_NUMBERED = _words("no nr id number index")
# Headings of these words alone are names of jobs, remarks, or how a run went.
_OF_A_JOB = _REPEATS | _words(
    """job jobs jobid run runs runid id ids index no nr num number of name user author owner host
    hosts hostname hostnames hostlist nodelist node
    list link links url log logs file wandb started start ended end finished begin time timestamp
    when comment comments remark remarks note notes observation observations reason conclusion
    verdict result results ok exit code rank place fit fits fitted loaded loads works worked passed
    passes success succeeded stable converged crashed oom canary canaries"""
)
# Numbers under these are measured, unless the heading marks them as settings.
_MEASURED = _words(
    """loss ppl perplexity accuracy acc score time wall elapsed duration power watt watts w energy
    kwh
    joules j temp temperature c util utilization utilisation efficiency eff speedup scaling cost
    price usd usage std stdev stddev deviation cv variance sigma jitter min max p50 p95 p99 best
    worst
    median mean avg average bandwidth gbps gb mb gib mib s ms sec secs seconds us minutes hours
    days h flops tflops pflops gflops mfu hfu tokens samples steps it iterations mem memory vram
    peak bubble overhead gain change delta diff rel relative vs total achieved measured throughput
    rate speed startup compile load save n count errors retries restarts"""
)
_SET = _words(
    "length len cap limit set target requested bucket buffer size workers threads channels lr"
)
_TOLD = re.compile(r"\S\s+\S|^v\d{1,3}(?:\.\d{1,3}){0,2}\b")  # names of jobs have no blanks
_COUNTED = re.compile(r"(?!v\d)\D{0,20}\d{1,4}|\d{4}-\d\d-\d\d.*", re.I)  # `run 3`
# The same in headings of other scripts, whose words have no blanks between.
_REMARKS = re.compile(
    r"备注|说明|结论|原因|状态|编号|序号|链接|日志|日期|时间戳|任务|作业|비고|설명|備考|説明"
)
# What a loss came to; `cross entropy` under the same heading is a setting.
_WENT = re.compile(
    r"[*`_]*(?:ok|fine|finite|stable|normal|good|nan|inf|diverge\w*|converge\w*|well-behaved)\b.*",
    re.I,
)
_VERSIONS = _words("version cuda rocm nccl rccl driver cudnn python torch triton ratio dropout lr")


def counts_repeats(heading: str) -> bool:
    """Whether the numbers below a heading count repeats of a row: `rep`, `seed #`."""
    return frozenset(re.findall(r"[a-z]+", heading.casefold())) - _NUMBERED <= _REPEATS


def is_setting(heading: str, cells: Sequence[str]) -> bool:
    """Whether a column that we do not know sets its rows apart: words, or whole numbers under a
    heading that measures nothing. A decimal number is a setting where it recurs."""
    plain = DRESS.sub("", heading).strip()
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain).casefold()
    words = re.findall(r"[a-z0-9]+", re.sub(r"\blearning[ _-]?rate\b", "lr", parts))
    stated = [text for cell in cells if not MISSING.fullmatch(text := DRESS.sub("", cell).strip())]
    if not stated or variable_of(plain):
        return False
    if not words:  # another script: words set rows apart, and numbers may be measured
        named = re.search(r"[^\W\d_]", plain) and not _REMARKS.search(plain)
        return bool(named) and not all(map(_BEGINS_WITH_NUMBER.match, stated))
    if set(words) <= _OF_A_JOB:
        # A job may be named by its model's size, 1.34G, or by what was changed, in words or as a
        # version.
        if all(giga_of(text) or (_SIZE.fullmatch(text) and parse_size(text)) for text in stated):
            return True
        told = sum(bool(_TOLD.search(text)) for text in stated)
        changes = words in (["name"], ["run"]) and 2 * told > len(stated)
        return changes and not all(map(_COUNTED.fullmatch, stated))
    differences = [text for text in stated if not _REFERENCE.fullmatch(text)]
    if all(map(_LINK.match, stated)) or (differences and all(map(_DIFFERENCE.match, differences))):
        return False
    numbers = [_NUMBER.fullmatch(text) for text in stated]
    measured = bool(_MEASURED & set(words)) and not _SET & set(words)
    if not all(numbers):  # `8.4 (300B in 1.75 days)` is a number with a remark
        return not (
            measured and all(_BEGINS_WITH_NUMBER.match(one) or _WENT.match(one) for one in stated)
        )
    if measured or unread_results([plain]):
        return False
    # Measured decimals hardly ever recur; settings do, in half of the rows or more.
    decimal = any(number["point"] for number in numbers if number)
    return not decimal or bool(_VERSIONS & set(words)) or 2 * len(set(stated)) <= len(stated)
