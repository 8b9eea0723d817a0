"""Whether a table is about training runs: by its headings, and by the words around it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from ...vocabulary.headings import Column, columns_of, is_benchmark
from ...vocabulary.parallelism import sizes_in
from ...vocabulary.prefilter import HintedPattern
from ...vocabulary.sizes import find_size
from .other_models import OTHER, is_about_others
from .own_listing import is_own_listing

_TRAINING = HintedPattern(
    r"(?<![^\W_])(?:pre-?|post-?)?train(?:s|ed|ing|er|able)?(?![^\W_])|\bfine-?tun\w*|\bFSDP2?\b|\bHSDP\b|\b(?-i:ZeRO)\b|\bzero-?[123]\b"
    r"|\bactivation (?:checkpoint|recompute)\w*|\btokens? (?:per|/) ?gpu|\bmicro[- ]?batch"
    r"|\bgradient (?:accumulation|checkpoint\w*)|\bno checkpointing|\bcheckpointing (?:on|off)\b"
    r"|\boptimi[sz]er\b|\bbackward pass\b|\bforward(?:\s?[+/&]\s?|-| and )backward\b"
    r"|\b(?:final|best|last|val(?:idation)?)[ _](?:loss|bpb|ppl|perplexity)\b|(?<![\w-])epochs?\b"
    r"|\bSFT\b|\bsupervised\b|\bDDP\b|\bMegatron\b|训练|微调|学習|학습|훈련",
    re.I,
)
_INFERENCE = HintedPattern(
    r"\binferenc\w*|\bserving\b|\bdecod(?:e|ing)\b|\bprefill\b|\bvLLM\b"
    r"|(?<!\d(?:st|nd|rd|th) )(?<!next[- ])\bgenerat(?:e|ion)\b"  # of text, not of hardware
    r"|\bTTFT\b|\bTPOT\b|\bKV[ -]?cache\b|\bevaluation\b|\bweb_?demo\b|推理|评测|推論|추론",
    re.I,
)
# Quantities that only a server has; the latency of a step is one of training.
_SERVED = HintedPattern(
    r"(?<!step )(?<!iteration )\blatency\b|\bTTFT\b|\bTPOT\b|\bITL\b|\bprefill\b|\bdecod(?:e|ing)\b"
    r"|\bprompts?\b|\brequests?\b|\bconcurren|\b(?:in|out)put (?:len|tok)|\bISL\b|\bOSL\b|\bQPS\b"
    r"|\bacceptance rate\b",
    re.I,
)
# A row with such a cache generates, whatever the title of its document says.
_CACHED = re.compile(r"\bKV[ -]?cach(?:e|ing)\b", re.I)
_REINFORCED = re.compile(r"\b(?:RLHF|PPO|GRPO|DAPO|RLOO|GSPO|REINFORCE)\b")
_SAVES = HintedPattern(
    r"\b(?:sav|load|restor|writ)\w*[ -]+(?:of[ -]+)?(?:the[ -]+)?checkpoint|\bcheckpoint\w*[ -]+"
    r"(?:sav|load|restor|writ|i/?o\b)",
    re.I,
)
_CHECKPOINTS = re.compile(r"\bcheckpoint\w*[ -]+sizes?\b", re.I)
_KERNELS = HintedPattern(
    r"\bkernels?\b|(?<![^\W_])(?:gemms?|matmuls?)(?![^\W_])|\bmicro-?bench\w*|\ball-?(?:reduce|gather|to-?all)\b"
    r"|\breduce-?scatter\b|\bcollectives?\b(?!-)|\bbandwidth\b",
    re.I,
)
_QUALITY = HintedPattern(
    r"\bloss(?:es)?\b|\bperplexity\b|\bppl\b|\bacc(?:uracy)?\b|\bf1\b|\bbleu\b|\bscores?\b|\bbpb\b",
    re.I,
)
# Of what no language model makes: pictures, and the sound of them.
_OF_PICTURES = re.compile(
    r"(?<![^\W_])(?:PSNR|SSIM|LPIPS|FID|m?IoU|mAP|AP(?:50|75)|A[RP]@\d+|top-?[15]|DSC|Dice|HD95|RMSE"
    r"|MAE|FPS)(?![^\W_])"
)
# The shape of a product of matrices: `M | K | N | TFLOPS`.
_SHAPES = frozenset("MNK")
# The columns of a training that no server prints.
_LOSS_OF_RUNS = re.compile(
    r"\A\W{0,4}(?:(?:final|last|best|end|train(?:ing)?|val(?:id(?:ation)?)?|eval|lm|ce|mean|avg)"
    r"[ _.]{0,2}){0,2}loss(?:\W.{0,30})?\Z",
    re.I,
)
_BARE_TIME = re.compile(
    r"\W{0,4}(?:time|speed|duration|latency)\W{0,4}(?:m?s|secs?|seconds?|mins?|minutes?|h|hours?)?\W{0,4}",
    re.I,
)
_LOSS = re.compile(r"(?<![^\W_])(?:loss|ppl|perplexity|bpb)(?![^\W_])", re.I)
_ESTIMATED = re.compile(
    r"\b(?:estimat|theoretical|calculat|approximat|minimum|at least|recommend|should have)"
    r"|估[算计]|最低",
    re.I,
)
_RATES = frozenset(
    re.findall(
        r"\w+",
        "tokens_per_s tokens_per_s_per_device samples_per_s samples_per_s_per_device step_time"
        " steps_per_s tflops hw_tflops mfu hfu throughput throughput_per_device",
    )
)
# The time of a step is of training, unless split into parts: `op | ms/step` down to a total.
_OF_STEPS = re.compile(r"\b(?:steps?|iter(?:ation)?s?)\b", re.I)
_PARTS = re.compile(
    r"\W*(?:ops?|operat(?:ion|or)s?|phases?|stages?|components?|kernels?|parts?|functions?|modules?|layers?"
    r"|categor(?:y|ies)|buckets?|regions?|sources?|where)\W*",
    re.I,
)
_IN_PARTS = re.compile(
    r"\b(?:break-?down|profil(?:e|er|ed|ing)|traces?)\b|\|\W{0,8}(?:total|sum|forward|backward|fwd|bwd|optimizer)\b",
    re.I,
)
# The name of a row: how its model was trained.
_METHOD = re.compile(
    r"\W*(?:full[ -]?(?:FT|fine-?tun\w*|param\w*|weights?)|(?:rs)?q?-?lora\+?|q?-?dora|bitfit"
    r"|\(?ia\)?3|(?:prefix|prompt|p)[ -]?tuning|(?:\w{1,10}[ _])?adapters?"
    r"|FSDP2?|HSDP|DDP|ZeRO[ -]?[0-3])(?![a-z])[^|]{0,40}",
    re.I,
)
_SIZED = ("topology", "batch")
_SEVERAL = 2  # sizes in a cell
_CODE = 200  # characters of a cell that names sizes
_KINDS = (
    frozenset({"step_time"}),
    frozenset({"tflops", "hw_tflops"}),
    frozenset({"mfu", "hfu"}),
    frozenset({"tokens_per_s", "tokens_per_s_per_device"}),
)
# No kernel has these: such a table is about runs that use kernels.
_OF_MODELS = frozenset({"mfu", "hfu", "tokens_per_s", "tokens_per_s_per_device"})
_OF_KERNELS = frozenset({"mfu", "hfu", "tflops", "hw_tflops", "agg_pflops"})
_COSTS = frozenset({"mem", "train_time"})  # of a training, next to what came of it
_OF_MODEL_STEPS = frozenset({"step_time", "samples_per_s"})
# A row of these is a moment or a statistic of one run: `Step | Loss | Tokens/s`.
_MOMENT = re.compile(
    r"\W*(?:(?:global )?steps?|epochs?|iter(?:ation)?s?|statistics?|percentiles?|quantiles?|ranks?"
    r"|步数|轮次|统计量?)\W*",
    re.I,
)
_RANK = re.compile(r"\W*ranks?\W*", re.I)


def subject_of(texts: Iterable[str]) -> str | None:
    """The subject of most lines of a document that name one: training or inference.

    That of other models than those of language is OTHER.
    """
    lines = list(texts)
    if is_about_others(lines):
        return OTHER
    subjects = Counter(subject for text in lines if (subject := _nearest([text])))
    return subjects.most_common(1)[0][0] if subjects else None


def is_training(
    headings: Sequence[str],
    path: Sequence[str],
    lead: str,
    subject: str | None = None,
    rows: Sequence[Sequence[str]] = (),
    *,
    names: str = "",
    generates: bool = False,
) -> bool:
    """Whether a table is one of training runs; `path` are the headings above, outermost first.

    `names`: words of the rows, asked if nothing else names a subject: one of them may generate.
    `generates`: columns of generation stood next to those of training, so a latency serves nobody.

    The nearest words decide between training and inference, else the subject of the document
    (`subject`). Loss curves, timings of kernels and saves of checkpoints are excluded.
    """
    columns = [column for column in columns_of(headings) if column]
    results = {column.name for column in columns if column.role == "result"}
    in_cells = _has_column_of_sizes(rows)
    sized = in_cells or any(column.role in _SIZED for column in columns)
    near = [lead, *reversed(path)]
    reinforced = generates or _is_reinforced([*headings, *near])
    heads = " ".join(headings)
    # `Prefill savings`: what trains by generating has columns of both.
    spoken = _nearest([heads, *near] if _TRAINING.search(heads) or not reinforced else near)
    spoken = spoken or ("training" if _names_methods(rows) else None)
    named = spoken or _nearest([names])
    about = named or subject
    if is_own_listing(headings, rows):
        return False
    served = any(map(_SERVED.search, headings)) and not reinforced
    cached = _CACHED.search(names) and _nearest([heads, lead, *path[-1:]]) != "training"
    if served or about == "inference" or (cached and not reinforced):
        return False
    moments = [
        bool(_MOMENT.fullmatch(heading)) and not (_RANK.fullmatch(heading) and _orders(rows, at))
        for at, heading in enumerate(headings)
    ]
    losses = any(_QUALITY.search(heading) for heading in headings)
    lost = _LOSS if "step_time" in results else _LOSS_OF_RUNS if results & _RATES else None
    if about is None and lost and any(map(lost.search, headings)):
        named = about = "training"
    if _is_elsewhere(headings, results):
        return False
    at = moments.index(True) if any(moments) else -1
    # A single row is a run, told with the epochs that it took.
    if (at == 0 and len(rows) != 1 and not _says_what_changed(rows)) or (
        at > 0 and losses and not sized and _counts_up(rows, at)
    ):
        return False
    of_checkpoints = any(map(_CHECKPOINTS.search, (*headings, *near[1:2])))
    saves = of_checkpoints or _SAVES.search(" ".join(near[:2]))
    if saves and results <= {"step_time", "speed", "mem"}:
        return False
    # A kernel has a share of the peak, too, but no model and no tokens.
    modelled = results - _OF_KERNELS or any(column.role == "model" for column in columns)
    whole = sized or (results & _OF_MODELS and modelled) or results >= _OF_MODEL_STEPS
    if not whole and any(_KERNELS.search(text) for text in (*headings, near[0], *near[1:2])):
        return False
    if not results and losses:
        return False
    if results >= _COSTS and (_names_methods(rows) or _names_sizes(columns_of(headings), rows)):
        return True
    if results == {"mem"} and named == "training" and not any(map(_ESTIMATED.search, near[:2])):
        return any(column.name == "size" for column in columns)
    if named is None and "step_time" in results and _is_of_steps(headings, near):
        named = subject
    return (
        is_benchmark(headings)
        or (in_cells and bool(results & _RATES))
        or _is_measured(columns, _told(results, headings), len(headings), named, about)
    )


def _is_elsewhere(headings: Sequence[str], results: set[str]) -> bool:
    """Whether a table is about pictures, about products of matrices, or about parts of a step."""
    tokens = any(name.startswith("tokens") for name in results)
    if any(map(_OF_PICTURES.search, headings)) and not tokens:
        return True
    if len(_SHAPES & set(headings)) > 1 and not tokens:
        return True
    timed = results == {"step_time"} and any(map(_BARE_TIME.fullmatch, headings))
    return timed and any(map(_PARTS.fullmatch, headings))


def _names_sizes(columns: Sequence[Column | None], rows: Sequence[Sequence[str]]) -> bool:
    """Whether most cells of a column name a model by its size: `Phi-2 (2.7B)`."""
    places = [at for at, column in enumerate(columns) if column and column.role == "model"]
    named = sum(any(at < len(row) and find_size(row[at]) for at in places) for row in rows)
    return bool(named) and 2 * named >= len(rows)


def are_steps(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the rows of a file are steps of runs: their number counts up beside a loss."""
    at = next((at for at, name in enumerate(headings) if _MOMENT.fullmatch(name)), None)
    return at is not None and any(map(_LOSS.search, headings)) and _counts_up(rows, at)


def _counts_up(rows: Sequence[Sequence[str]], at: int) -> bool:
    """Whether most cells of a column are larger numbers than those above: moments of a run.

    `Steps` may be how many each run took.
    """
    cells = [row[at].replace(",", "").strip(" *`") for row in rows if at < len(row)]
    numbers = [int(cell) for cell in cells if cell.isdecimal()]
    up = sum(before < after for before, after in pairwise(numbers))
    return len(cells) > 1 and 2 * up >= len(cells) - 1


def _says_what_changed(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the second column has words of its own in each row: `Step` counts changes, then."""
    cells = [row[1].casefold().strip(" *`") if len(row) > 1 else "" for row in rows]
    worded = all(re.search(r"[^\W\d_]{4}", cell) for cell in cells)
    return len(cells) > 1 and worded and len(set(cells)) == len(cells)


def _orders(rows: Sequence[Sequence[str]], at: int) -> bool:
    """Whether a column ranks the rows from the first: of processes, the first rank is 0."""
    cells = [row[at].strip(" *`") for row in rows if at < len(row)]
    return len(cells) > 1 and cells == [str(place) for place in range(1, len(cells) + 1)]


def _told(results: set[str], headings: Sequence[str]) -> set[str]:
    """The results of a table, without a time that its heading does not say to be of a step."""
    timed = [
        heading
        for heading, column in zip(headings, columns_of(headings), strict=True)
        if column and column.name == "step_time"
    ]
    return results - ({"step_time"} if all(map(_BARE_TIME.fullmatch, timed)) else set())


def _is_reinforced(texts: Sequence[str]) -> bool:
    """Whether the texts are about training that generates: its tables have prompts, too."""
    return any(map(_REINFORCED.search, texts))


def _has_column_of_sizes(rows: Sequence[Sequence[str]]) -> bool:
    """Whether most cells of a column name several sizes: `cp8-dp2-gas1`, `TP 4, PP 2`."""
    width = max(map(len, rows), default=0)
    for at in range(width):
        cells = [row[at] for row in rows if at < len(row) and len(row[at]) <= _CODE]
        named = sum(len(sizes_in(cell)) >= _SEVERAL for cell in cells)
        if named and 2 * named >= len(rows):
            return True
    return False


def _names_methods(rows: Sequence[Sequence[str]]) -> bool:
    """Whether most rows begin with a method of training: `Full FT`, `LoRA`."""
    named = sum(bool(row and _METHOD.fullmatch(row[0])) for row in rows)
    return len(rows) > 1 and 2 * named > len(rows)


def _is_of_steps(headings: Sequence[str], near: Sequence[str]) -> bool:
    """Whether a table is about whole steps, not about their parts."""
    of_parts = any(map(_PARTS.fullmatch, headings)) or any(map(_IN_PARTS.search, near))
    return any(map(_OF_STEPS.search, headings)) and not of_parts


def _nearest(texts: Iterable[str]) -> str | None:
    """The subject of the nearest text that names one: training or inference."""
    for text in texts:
        training, inference = bool(_TRAINING.search(text)), bool(_INFERENCE.search(text))
        if training or inference:
            return "training" if training else "inference"
    return None


def _is_measured(
    columns: Sequence[Column], results: set[str], width: int, named: str | None, about: str | None
) -> bool:
    """Whether there is a rate next to a known column, in a document about training.

    Next to unknown columns only, the nearest words have to name training. A share of the peak next
    to a column of the model is of training.
    """
    rates = results & _RATES
    adjacent = [
        column for column in columns if column.role != "remark" and column.name not in rates
    ]
    shares = bool(rates & {"mfu", "hfu"}) and any(column.role == "model" for column in adjacent)
    known = bool(adjacent or len(rates) > 1) and about == "training"
    # A server prints no two of these.
    stepped = about is None and sum(bool(rates & kind) for kind in _KINDS) > 1
    return bool(rates) and (shares or known or stepped or (width > 1 and named == "training"))
