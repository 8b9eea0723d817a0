"""Redaction of secrets before storage: values of secret names, and well-known forms."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping

from .secret_commands import REDACTED as REDACTED
from .secret_form import is_opaque
from .secret_forms import SearchedForms, every_form, redact_across

LONGEST_NAME = 200  # letters of a name that is cached
LONGEST_KNOWN = 300  # of a cached text: arguments and settings are the same in file after file

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# One of these words in a name is enough.
SECRET = frozenset({
    "secret", "secrets", "password", "passwords", "passwd", "passphrase", "passcode",
    "credential", "credentials", "auth", "oauth", "authorization", "authtoken", "apikey",
    "apitoken", "accesskey", "secretkey", "privatekey", "cookie", "cookies", "jwt", "crumb",
    "psk", "resourcekey", "storepass", "keypass",
})  # fmt: skip
ENDS = ("password", "passwd", "secret", "apikey")  # PGPASSWORD
# These alone are a secret too, unless the adjacent words are about models, data or text.
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
    "error", "errors", "accuracy",
})  # fmt: skip
# In addition to `keys` and the like, in the plural, which is harmless by itself.
PLURAL = frozenset(("keys", "tokens"))
OWNERS = frozenset({
    "api", "access", "private", "secret", "ssh", "auth", "account", "signing", "encryption", "hf",
    "wandb",
})  # fmt: skip
# Empty, a state, a placeholder, a variable whose value is elsewhere, or the start of an error.
HARMLESS = re.compile(
    r"(?:(?i:none|true|false|null|nil|yes|no|not|on|off|enabled|disabled|default|unset|missing"
    r"|required|anonymous|permission|cannot|n/a)|\*+|\.{3}|\[redacted\]"
    r"|\$\w+[/\w.]*|\$\{\w+\}|\$\{\{.*|<[\w -]+>)?\Z"
)
# What makes a key one of data.
OF_DATA = re.compile(r"\b(?i:cache|sort|foreign|partition|join)\s\Z")
# Usual values of a `key`, a `token` or a `pass` without another name: words, a call, a sign.
WEAK = frozenset(("key", "token", "pass", "dispatch", "autograd", "id"))
WORDS = re.compile(
    r"[A-Za-z]{1,12}\Z|\w{1,3}\Z|[a-z]{1,16}(?:[ _-][a-z\d]{1,16}){1,8}\Z|[\w.]{1,60}\(|[^\w$\"'{]"
)
# MLPerf's logs use "key": "run_start".
EVENT = re.compile(r"[a-z]{2,12}(?:_[a-z]{2,12})?_(?:start|stop|accuracy|loss|stats|clear)\Z")
MEASURED = re.compile(r"[-+]?\d[\d.,]{0,12}(?:e[-+]?\d{1,3})?\s?[A-Za-z/%]{0,5}\Z")  # of a power
NUMERIC = re.compile(r"[-+\d.,eE\s\[\]()]{1,12}\Z")

# The shortest secret of a form, `xoxb-` and 8 letters, has 13. Most values of arguments are shorter
# words (`1`, `True`, `0.999`).
PLAIN_VALUE = re.compile(r"[\w.+-]{0,12}\Z")
# A value of which a part was found.
IN_PART = re.compile(r"\[redacted\](?:[\w+/=.~:-]{12}|[+/=]\w)")
CLOSING = "\"',;)}]"
BLANKS = " \t\r\n\0\\x0tnr"
# The start of a value with names of its own: `auth: {'token': ...`
NESTED = re.compile(r"[\[({]+[\"']?[A-Za-z][\w.-]*[\"']?[:=]")
# Parts of every name of a secret, in small letters.
STEMS = (
    "secret",
    "pass",
    "cred",
    "auth",
    "key",
    "token",
    "pwd",
    "pw",
    "psk",
    "cookie",
    "crumb",
    "jwt",
)
NAMED = re.compile(rf"(?<![\w.-])(?P<name>[\w.-]*?(?i:{'|'.join(STEMS)})[\w.-]*+)")
# Between a name and its value. After a blank, a comma or in a cell of a table only a value that
# looks like a secret is one: texts mention tokens and keys.
ASSIGNED = re.compile(
    r"""\\{0,8}["'`]{0,2}\]?\s*(?:=>|:=|=|:(?!//|:)|<<<)\s*(?:[*_]{1,2}\s+|!{1,2}\w{1,20}\s+)?"""
    r"""|\s+\.{2,}\s+|(?<=:)(?:[*_]{2}\s+)|(?:%2[27])?%3[ADad](?:%2[27])?"""
)
BEHIND = re.compile(
    r"""\s*(?:-{1,2}>|→)\s*|["'](?:\s+)(?=["'])|\\{0,8}["'`]{0,2}\s*(?:,\s*|(?:[|│┃]|\\{1,4}u25\w\w)\s*"""
    r"""|</t[dh]>(?:[\s"',\\]|\\{1,4}n){0,12}<t[dh]>\s*)"""
    r"""|\s/\s|(?:\s|\0|\\0|\\x00|\\{1,4}[tnr])+|>(?=[^\s<])"""
)
# To the end of the word, with quotes and blanks within them: rather too much than a half. But not
# the following setting or cell.
VALUE = re.compile(
    r"""(?:"(?!,\s?\\{0,8}")(?:\\.|[^"\\])*"|'[^']*'"""
    r"""|(?![,;&](?=[A-Za-z_][\w.-]*=)|\|(?=\d\d:|\d+\||\s|\Z)|</\w{1,40}>|%26|\0|\\0|\\x00)\S)+"""
)
SETTER = re.compile(
    r"\b(?:setenv|set\s+-\w+|ENV|ARG|machine\b.*\bpassword|configure set"
    r"|remote modify\s+(?:--\w+\s+)?\w+)\s+\Z",
    re.S,
)
# A call that sets a value by its name.
CALL = re.compile(
    r"(?i:put_?env|set_?env|set_?default|set_?property|log_param|add_?header)\(\\{0,8}[\"']\Z"
)


# Quotes and ampersands in HTML; `&amp;quot;` is one of a text that was escaped twice.
ENTITY = re.compile(r"&(?:amp;){0,3}(quot|apos|amp|#34|#39|#x22|#x27);", re.I)
SIGNS = {"quot": '"', "#34": '"', "#x22": '"', "apos": "'", "#39": "'", "#x27": "'", "amp": "&"}


def _signed(match: re.Match[str]) -> str:
    return SIGNS[match[1].lower()]


def is_secret_name(name: str) -> bool:
    """Whether the words of a name make it one of a secret."""
    return _is_secret_name(name) if len(name) <= LONGEST_NAME else _has_secret_words(name)


def _has_secret_words(name: str) -> bool:
    # W&B puts a setting's value under `NAME.value`.
    words = [word.lower() for word in WORD.findall(name.removesuffix(".value"))]
    if words[-2:] == ["key", "data"]:  # of a kubeconfig: a key itself
        return True
    if words[-1:] in (["error"], ["exception"], ["type"], ["method"]):  # of which there are few
        return False
    found = set(words)
    if found & SECRET or (found & PLURAL and found & OWNERS):
        return True
    if any(word.endswith(ENDS) for word in words):
        return True
    if words[1:] and words[-1] == "pw":  # alone a power
        return True
    if not found & DOUBTFUL or found & PLAIN:
        return False
    return words != ["pwd"]


# Arguments and settings of one kind of run have the same names, file after file.
_is_secret_name = functools.lru_cache(maxsize=4096)(_has_secret_words)


class Redactions:
    """Counters of redactions by this process."""

    count = 0


def redact(name: str, value: str) -> str:
    """The value to store under a name: itself, unless the name or its form is of a secret."""
    if is_secret_name(name) and not _harmless(value, name):
        Redactions.count += value != REDACTED
        return REDACTED
    return redact_text(value)


def _harmless(value: str, name: str) -> bool:
    if HARMLESS.match(value) or (name == "key" and EVENT.match(value)):
        return True
    words = {word.lower() for word in WORD.findall(name)}
    if words <= WEAK and WORDS.match(value) and not is_opaque(value.strip("[]()")):
        return True
    if "pw" in words and MEASURED.match(value):
        return True
    return not words & SECRET and NUMERIC.match(value) is not None


def redact_text(text: str) -> str:
    """Free text with secrets removed; the surrounding text stays."""
    if PLAIN_VALUE.match(text):
        return text
    clean = _redact_known(text) if len(text) <= LONGEST_KNOWN else _redact(text, every_form())
    Redactions.count += clean != text
    return clean


@functools.lru_cache(maxsize=8192)
def _redact_known(text: str) -> str:
    return _redact(text, every_form())


def redact_json(text: str) -> str:
    """A JSON text with secrets removed from its strings; it stays JSON."""
    if redact_text(text) == text:
        return text
    try:
        return json.dumps(redact_inside(json.loads(text)), ensure_ascii=False)
    except (ValueError, RecursionError):
        return redact_text(text)


def redact_inside(value: object) -> object:
    """A text, and those in a list or a map, with secrets removed."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return {redact_inside(key): redact_inside(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact_inside(one) for one in value]
    return value


def redact_lines(text: str) -> str:
    """A document with secrets removed, so that every line keeps its number."""
    before, low = text, text.lower()
    text = redact_across(text, low)
    # Hints that are absent from the text are absent from its lines.
    hinted = every_form().within(low)
    clean = "\n".join([_redact(line, hinted) for line in text.split("\n")])
    Redactions.count += clean != before
    return clean


def _redact(text: str, hinted: SearchedForms) -> str:
    if "&" in text and ENTITY.search(text):
        plain = ENTITY.sub(_signed, text)
        clean = _redact(plain, hinted)
        return text if clean == plain else clean
    low = text.lower()
    return _redact_named(hinted.redact(text, low, redact_text), low)


def _redact_named(text: str, low: str) -> str:
    """A text without the values of secret names."""
    if not any(stem in low for stem in STEMS):
        return text
    parts: list[str] = []
    done = at = 0
    while named := NAMED.search(text, at):
        at = named.end()
        if not is_secret_name(named["name"]):
            continue
        start, value = _value_of(text, named)
        if value:
            parts += text[done:start], _instead(value)
            done = at = start + len(value)
    return "".join((*parts, text[done:])) if parts else text


def _value_of(text: str, named: re.Match[str]) -> tuple[int, str]:
    """The start of the value of a name, and the value; "" for none, or a harmless one."""
    name, start = named["name"], named.start()
    before = text[max(0, start - 200) : start]
    assigned = ASSIGNED.match(text, named.end())
    between = assigned or BEHIND.match(text, named.end())
    found = between and VALUE.match(text, between.end())
    if not between or not found:
        return 0, ""
    value = found.group()
    bare = value.strip("\\\"'`") if name != "key" else value.strip("\\" + CLOSING)
    option = before.endswith("-") or name.startswith("-")
    blank = not between.group().lstrip("\"'").strip(BLANKS)
    certain = (
        assigned
        or (blank and ((option and value[0] != "-") or SETTER.search(before)))
        or (between.group() == ">" and before.endswith("<"))
        or ("," in between.group() and value[0] in "\"'\\" and CALL.search(before))
    )
    if NESTED.match(value) or (name.lower() == "key" and OF_DATA.search(before)):
        return 0, ""
    seen = bare.startswith(REDACTED[:-1]) and not IN_PART.match(bare)
    if seen or bare.lower() in ("bearer", "basic"):
        return 0, ""
    if _harmless(bare, name) or _harmless(bare.rstrip(CLOSING + "`:"), name):
        return 0, ""
    if not certain and not is_opaque(bare.rstrip(CLOSING + ".`|")):
        return 0, ""
    return found.start(), value


def _instead(value: str) -> str:
    closing = CLOSING if value[0] not in "\"'" else CLOSING.strip("\"'")
    return REDACTED + value[len(value.rstrip(closing)) :]
