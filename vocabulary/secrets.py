"""Secrets never enter the warehouse: values of names that look like one, and well-known shapes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

REDACTED = "[redacted]"
LONGEST_NAME = 200  # letters of a name that is remembered

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# One of these words in a name is enough.
SECRET = frozenset({
    "secret", "secrets", "password", "passwords", "passwd", "passphrase", "passcode",
    "credential", "credentials", "auth", "oauth", "authorization", "authtoken", "apikey",
    "apitoken", "accesskey", "secretkey", "privatekey",
})  # fmt: skip
ENDS = ("password", "passwd", "secret", "apikey")  # PGPASSWORD
# These alone are a secret too, unless the words next to them are about models, data or text.
DOUBTFUL = frozenset(("key", "token", "pass", "pwd"))
PLAIN = frozenset({
    "query", "value", "head", "heads", "dim", "dims", "proj", "projection", "layer", "layers",
    "norm", "linear", "cache", "sort", "primary", "foreign", "json", "dict", "dataset", "data",
    "text", "image", "audio", "video", "label", "state", "param", "metric", "log", "loss", "num",
    "max", "min", "per", "total", "type", "types", "policy", "dispatcher", "drop", "dropping",
    "router", "expert", "moe", "eod", "eos", "bos", "sos", "pad", "unk", "mask", "masking", "sep",
    "cls", "fim", "middle", "prefix", "suffix", "special", "null", "begin", "end", "start",
    "stop", "size", "length", "len", "count", "counting", "rate", "ids", "embedding",
    "embeddings", "forward", "backward", "one", "two", "single", "first", "second", "multi",
    "use", "allow", "ambiguous", "position", "speculative", "random", "ltd", "extra", "shortcut",
    "error", "errors",
})  # fmt: skip
# Beside `keys` and the like, in the plural, which is harmless by itself.
PLURAL = frozenset(("keys", "tokens"))
OWNERS = frozenset({
    "api", "access", "private", "secret", "ssh", "auth", "account", "signing", "encryption", "hf",
    "wandb",
})  # fmt: skip
HARMLESS = re.compile(r"(?:None|True|False|null|true|false|\*+|\[redacted\])?\Z")
# What MLPerf's logs call a key: "key": "run_start".
EVENT = re.compile(r"[a-z]{2,12}(?:_[a-z]{2,12})?_(?:start|stop|accuracy|loss|stats|clear)\Z")
NUMERIC = re.compile(r"[-+\d.,eE\s\[\]()]{1,12}\Z")

# No form below fits in so short a word: the shortest, `xoxb-` and 8 letters, has 13. Most values of
# arguments are such words (`1`, `True`, `0.999`).
PLAIN_VALUE = re.compile(r"[\w.+-]{0,12}\Z")
CLOSING = "\"',;)}]"
NAME = r"[A-Za-z_][\w.-]*"
# To the end of the word, quotes and blanks within them included: rather too much than a half.
QUOTED_OR_WORD = r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|\S)+"""
ASSIGNMENT = re.compile(
    rf"""(?<![\w.-])(?P<name>[\d.-]*{NAME})(?P<is>["'`]?\]?\s*(?:=|:(?!//))\s*|\s+\.{{2,}}\s+)(?P<value>{QUOTED_OR_WORD})"""
)
OPTION = re.compile(rf"(?P<name>(?<![\w-])--?{NAME})(?P<is>\s+)(?P<value>(?!-){QUOTED_OR_WORD})")
SCHEME = re.compile(
    r"(?P<is>\b(?:Bearer|Basic|Authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?[a-z]{1,20})\s+)"
    r"(?P<value>(?!\[redacted\])[\w.~+/=-]{6,})", re.I,
)  # fmt: skip
# Within a connection string or behind the question mark of a URL.
QUERY = re.compile(rf"(?<=[;&?])(?P<name>{NAME})(?P<is>=)(?P<value>[^;&\s\"']+)")
SIGNATURE = re.compile(r"(?:.*-)?sig(?:nature)?", re.I)
PROGRAM = re.compile(
    r"(?P<is>\b(?:curl\b[^|;\n]{0,200}?\s(?:-u|--user)[\s=]|sshpass\s+-p|(?:docker|podman)\s+login\b"
    r"[^|;\n]{0,200}?\s(?:-p|--password)[\s=])\s{0,3})(?P<value>(?!\[redacted\])\S+)"
)
LOGIN = re.compile(
    r"(?P<is>\b(?:wandb|huggingface-cli|hf)\s+(?:auth\s+)?login\s+)(?P<value>\w{16,})"
)
USERINFO = re.compile(r"(?P<is>(?<![\w+.-])[a-zA-Z][\w+.-]*://)(?!\[redacted\]@)[^\s/\"']+@")
SHAPE = re.compile(
    r"""(?x) (?<![A-Za-z0-9]) (?:
      hf_[A-Za-z0-9]{16,} | gh[pousr]_[A-Za-z0-9]{16,} | github_pat_\w{20,} | glpat-[\w-]{16,}
    | (?:AKIA|ASIA)[0-9A-Z]{16} | sk-[\w-]{16,} | xox[abeoprs]-[\w-]{8,} | nvapi-[\w-]{16,}
    | AIza[\w-]{30,} | dckr_pat_[\w-]{8,} | (?<=hooks\.slack\.com/services/)[\w/]+
    | eyJ[\w-]{8,2000}\.[\w-]{4,}\.[\w-]*
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----(?:(?!-----END).)* )"""
)


def is_secret_name(name: str) -> bool:
    """Whether a name, taken word by word, is one of a secret."""
    return _is_secret_name(name) if len(name) <= LONGEST_NAME else _has_secret_words(name)


def _has_secret_words(name: str) -> bool:
    words = [word.lower() for word in WORD.findall(name)]
    found = set(words)
    if found & SECRET or (found & PLURAL and found & OWNERS):
        return True
    if any(word.endswith(ENDS) for word in words):
        return True
    if not found & DOUBTFUL or found & PLAIN:
        return False
    return words != ["pwd"]


# Arguments and settings of one kind of run have the same names, file after file.
_is_secret_name = functools.lru_cache(maxsize=4096)(_has_secret_words)


def redact(name: str, value: str) -> str:
    """The value to store under a name: itself, unless the name or its shape says secret."""
    if is_secret_name(name) and not _harmless(value, name):
        return REDACTED
    return redact_text(value)


def _harmless(value: str, name: str) -> bool:
    if HARMLESS.match(value) or (name == "key" and EVENT.match(value)):
        return True
    strong = {word.lower() for word in WORD.findall(name)} & SECRET
    return not strong and NUMERIC.match(value) is not None


def redact_text(text: str) -> str:
    """Free text with secrets taken out; what stands around them stays."""
    return text if PLAIN_VALUE.match(text) else _redact_forms(text)


def _redact_forms(text: str) -> str:
    for pattern, put in _FORMS:
        text = pattern.sub(put, text)
    return text


def redact_name(text: str) -> str:
    """The same for the name of a value, of which a log has few and each often."""
    return _redact_name(text) if len(text) <= LONGEST_NAME else redact_text(text)


@functools.lru_cache(maxsize=1024)
def _redact_name(text: str) -> str:
    return redact_text(text)


def redact_lines(text: str) -> str:
    """A document with secrets taken out, line by line, so that every line keeps its number."""
    # What is found nowhere in the text is in none of its lines: most forms are done with that.
    forms = [form for form in _FORMS if form[0].search(text)]
    lines = text.split("\n") if forms else []
    for pattern, put in forms:
        lines = [pattern.sub(put, line) for line in lines]
    return "\n".join(lines) if forms else text


def _named(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    bare = value.strip("\"'")
    bare = bare if name != "key" else value.strip(CLOSING)
    if not is_secret_name(name) or _harmless(bare, name) or bare.startswith(REDACTED[:-1]):
        return found.group()
    if bare.lower() in ("bearer", "basic"):
        return found.group()
    closing = CLOSING if value[0] not in "\"'" else CLOSING.strip("\"'")
    tail = value[len(value.rstrip(closing)) :]
    return f"{name}{found['is']}{REDACTED}{tail}"


def _asked(found: re.Match[str]) -> str:
    if SIGNATURE.fullmatch(found["name"]) and not found["value"].startswith(REDACTED[:-1]):
        return f"{found['name']}={REDACTED}"
    return _named(found)


_FORMS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (SHAPE, REDACTED),
    (USERINFO, rf"\g<is>{REDACTED}@"),
    (SCHEME, rf"\g<is>{REDACTED}"),
    (LOGIN, rf"\g<is>{REDACTED}"),
    (PROGRAM, rf"\g<is>{REDACTED}"),
    (QUERY, _asked),
    (OPTION, _named),
    (ASSIGNMENT, _named),
)
