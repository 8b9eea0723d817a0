"""Contexts of secrets in a text: after names, in URLs and headers, in commands, in sentences.

Every pattern examines each letter a bounded number of times. Each form has hints, in small letters:
a text without any of them has no secret of that form, which settles most lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from . import secret_words
from .secret_commands import COMMANDS, REDACTED, TOKENS, UNREAD, WORDS_OF_OTHERS
from .secret_form import SEEN, Form, form_of, redact_opaque
from .secret_rules import keywords, redact_tokens
from .secret_sentences import SENTENCES

_WORDS = re.compile(r"[a-z]{1,12}(?:[-_/.][a-z]{1,12}){0,9}[.:]?\Z")


def _body(match: re.Match[str]) -> str:
    """A key with each of its lines redacted."""
    return re.sub(r"[^\s\\]{8,}|(?<=\\n)[^\s\\]+", _line_of_key, match.group())


def _line_of_key(match: re.Match[str]) -> str:
    return match.group() if "-----" in match.group() else REDACTED


def _redact_header(match: re.Match[str]) -> str:
    """The value of a header, unless it is a plain word: `the basic optimizer`."""
    value, header = match["value"], "uthor" in match["is"]
    plain = value.isalpha() and len(value) < 20 and not header
    return match.group() if plain or _WORDS.match(value) else f"{match['is']}{REDACTED}"


def _coded(match: re.Match[str]) -> str:
    value = match["value"]
    is_plain = (
        value.isdigit() or value.startswith(SEEN) or (value.isalpha() and "ode=" in match["is"])
    )
    return match.group() if is_plain else f"{match['is']}{REDACTED}"


_PLAIN = rf"(?P<value>{UNREAD}[\w.~+/=:%!@#^*-]+)"
_NAME = r"(?P<name>[\w.-]*?(?i:key|token|secret|password|passwd))"
FORMS = (
    form_of(
        "private",
        r"-----BEGIN[ \w]{0,60}PRIVATE KEY[ \w]{0,20}-----"
        r"(?:(?!-----(?:BEGIN|END))[\s\S]){0,20000}",
        _body,
        across=True,
    ),
    # A list of arguments, and W&B's record of a setting: each also a line below the name.
    form_of(
        "--",
        rf"(?P<is>[\"']--?(?=[A-Za-z]){_NAME}[\"']\s*,\s*[\"'])(?P<value>{UNREAD}[^\"'\n]+)",
        across=True,
    ),
    form_of(
        "value",
        rf"(?P<is>(?<![\w.-]){_NAME}[\"']?:\s{{0,99}}+(?:desc:[^\n]{{0,300}}\s{{1,99}}+)?"
        r"\{?\s{0,99}+[\"']?value[\"']?:\s{0,99}+[\"']?)"
        rf"(?P<value>{UNREAD}[^\s\"',}}]+)",
        across=True,
    ),
    form_of(
        "slack.com", r"(?P<is>\bhooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/)[\w/]+"
    ),
    form_of(
        "webhook /hook/",
        r"(?P<is>\b(?:discord(?:app)?\.com/api/webhooks|webhook\.office\.com/webhookb2"
        r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v\d/hook)/)[^\s\"'<>]+",
    ),
    form_of(
        "hook /integration/ /key/",
        r"(?P<is>://[\w.-]{1,100}(?::\d{1,5})?/(?:[\w.-]{1,60}/){0,6}"
        # Not words in small letters: `hooks/register_forward_hook` is a page of documentation.
        r"(?:(?:web)?hooks?(?:/catch/\d{1,12})?|integration|with/key)/)"
        r"(?![a-z_-]{7,99}(?:[^\w@-]|$))[\w@-]{7,}(?:/[\w-]{3,}){0,9}",
    ),
    form_of(
        "hf_ hvs. gh glpat- akia asia sk- sk xox nvapi- aiza dckr_ eyj r8_ gsk_ xai- tskey- rpa_"
        " :aa /bot -lf- key- sbp_ nrak- discord jina_ secret_ ms- .public. .local. 1//"
        " figd_ ya29. atatt3 age- sk_ fc- slack:// live_ lsv2_ kgat_ bkua_ sqa_ sqp_ squ_ ccipat_"
        " apa91b",
        TOKENS,
        REDACTED,
    ),
    form_of(
        "://",
        r"(?P<is>(?<![\w+.-])[a-zA-Z][\w+.-]*://)(?!\[redacted\]@)[^\s/\"'<>|]+@",
        rf"\g<is>{REDACTED}@",
    ),
    form_of(
        "code= sig= session= signature=",
        r"(?P<is>[?&;](?:code|sig|session|(?:[\w-]*-)?[Ss]ignature)=)(?P<value>[^;&\s\"'<>)]+)",
        _coded,
    ),
    form_of("sig=", rf"(?P<is>(?<![\w.-])sig=)(?P<value>{UNREAD}[^;&\s\"'<>)]+)", _coded),
    form_of(
        "bearer basic authorization",
        r"(?i)(?P<is>(?:\b|(?<=\\[nr]))(?:Bearer|Basic|Authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?[a-z]{1,20})\s+)"
        rf"(?P<value>{UNREAD}[\w.~+/=-]{{6,}})",
        _redact_header,
    ),
    form_of(
        "login",
        r"(?P<is>\b(?:wandb|huggingface-cli|hf|comet|cargo)\s+(?:auth\s+)?login\s+(?:--[\w=./:-]{1,200}\s+){0,9})"
        r"(?P<value>[\w-]{16,})",
        listed=True,
    ),
    form_of(
        "login --password-stdin --passwd-on-stdin sudo passwd kinit cryptsetup",
        rf"(?P<is>\becho\s+(?:-n\s+)?[\"']?)(?P<value>{UNREAD}[^\s\"'|]{{6,}})"
        r"(?=[\"']?\s{0,9}\|[^|]{0,90}?"
        r"(?:login|--passw(?:or)?d-(?:on-)?stdin|sudo\s+-S|chpasswd|passwd\s+--stdin|kinit|cryptsetup))",
    ),
    form_of(
        "curl sshpass login redis-cli ssh-keygen smbclient mysql maria 7z zip alias lftp http xh"
        " etcdctl mongo ncftp cqlsh sqlcmd bcp ldap influx codecov coscmd ipmitool snmp"
        " enable sqlplus <<< admin connect nmcli <( taos openssl",
        COMMANDS,
        listed=True,
    ),
    form_of("/t/", r"(?P<is>//[\w.-]{1,100}(?::\d{1,5})?/t/)(?P<value>(?=[\w-]*\d)[\w-]{12,})"),
    form_of(
        "client( experiment( token( login(",
        r"(?P<is>\b(?:(?:[A-Z]\w{0,40})?Client(?:V\d)?|Experiment|\w{0,40}[Tt]oken|login)\([\"'])"
        r"(?P<value>[A-Za-z0-9_-]{24,200})(?=[\"'])",
        redact_opaque,
    ),
    # A name and its password: basic_auth=("bob", "..."), HTTPBasicAuth('bob', '...').
    form_of(
        "auth",
        r"(?P<is>(?i:auth)\w{0,20}\s?=?\s?\(\s?[\"'][^\"'\n]{1,100}[\"']\s?,\s?[\"'])"
        rf"(?P<value>{UNREAD}[^\"'\n]+)",
    ),
    form_of("jdbc:oracle", rf"(?P<is>jdbc:oracle:\w{{1,9}}:[\w.-]{{1,60}}/){_PLAIN}(?=@)"),
    form_of(
        "password",
        r"(?i)(?P<is>type=[\"']?password\b[^<>\n]{0,200}?\svalue=[\"']?)"
        rf"(?P<value>{UNREAD}[^\"'<>\n]+)",
    ),
    Form(
        WORDS_OF_OTHERS,
        rf"(?P<is>(?i:{'|'.join(WORDS_OF_OTHERS)})\s{{0,3}}[:：=]\s{{0,3}}[\"'`]?)"
        rf"(?P<value>{UNREAD}[^\s\"'`<>|]+)",
    ),
    # Lines of a file of passwords of PostgreSQL.
    form_of(
        ":5432:",
        rf"(?P<is>(?<![\w.*-])[\w.*-]{{1,200}}:5432:[\w*-]{{1,60}}:[\w*-]{{1,60}}:){_PLAIN}",
    ),
    # An option of a tool that also takes the name of the key.
    form_of("ossutil", r"(?P<is>\bossutil(?:64)?\b[^|;\n]{0,200}?\s-k\s{1,3})" + _PLAIN),
    # In ODBC; alone PWD is a folder.
    form_of("pwd=", rf"(?P<is>;\s{{0,3}}(?i:pwd)=)(?P<value>{UNREAD}[^;\s]+)"),
    # A name, and its value after it or on the next line: in Kubernetes, JSON and XML.
    form_of(
        "value",
        r"(?P<is>(?i:\bname[\"']?\s{0,3}[:>]|\b(?:name|key)=)\s{0,3}[\"']?"
        + _NAME
        + r"(?:[\"']?[\s,]{1,99}|</name>\s{0,99})[\"'<]?(?i:value)[\"']?\s{0,3}[:>=]\s{0,9}[\"']?)"
        rf"(?P<value>{UNREAD}[^\s\"'<]+)",
        across=True,
    ),
    # A value below its name, as in folded YAML.
    Form(
        (": |", ": >"),
        rf"(?P<is>(?m:^)[ \t]{{0,99}}+(?:- )?{_NAME}:[ \t]{{1,9}}[|>][-+]?\s{{1,99}}+)"
        rf"(?P<value>{UNREAD}\S+)",
        across=True,
    ),
    # Pydantic's message about a field that it names on the line before.
    form_of(
        "input_value",
        rf"(?P<is>(?<![\w.-]){_NAME}\n[^\n]{{0,300}}?\binput_value=[\"']?)"
        rf"(?P<value>{UNREAD}[^\s\"',\]]+)",
        across=True,
    ),
    # A bind with name and password.
    form_of(
        "bind( bind_s( login( authenticate(",
        r"(?P<is>\b(?:bind(?:_s)?|login|authenticate)\([\"'][^\"'\n]{1,200}[\"'],\s{0,3}[\"'])"
        + _PLAIN,
    ),
    form_of("pass:", rf"(?P<is>(?<![\w-])pass:){_PLAIN}"),
    form_of(
        "pgpass",
        rf"(?P<is>(?<![\w.*-])[\w.*-]{{1,200}}:(?:\d{{1,5}}|\*):[\w*-]{{1,60}}:[\w*-]{{1,60}}:){_PLAIN}",
    ),
    form_of(
        "credential",
        rf"(?P<is>\b[Cc]redentials?\s{{0,3}}[=:]?\s{{0,3}}\()(?P<value>{UNREAD}[^()\n]{{3,300}})"
        r"(?=\))",
    ),
    *SENTENCES,
)
_LONG = re.compile(r"[\w+/.~=|%:-]{18,}")
_BASE64 = re.compile(r"(?<![\w+/=])[A-Za-z0-9+/]{24,20000}={0,2}(?![\w+/=])")
# A line of a key by itself: base64 with all kinds of its letters, in the width of key files.
_KEY_LINE = re.compile(
    r"(?m)^(?P<is>[ \t]*)(?=[^\n]{0,80}[a-z])(?=[^\n]{0,80}[A-Z])(?=[^\n]{0,80}\d)"
    r"[A-Za-z0-9+/]{60,76}={0,2}(?P<end>[ \t\r]*)$"
)
# The same after what a logger puts in front.
_KEY_END = re.compile(r"(?m)(?<=[\s|>])[A-Za-z0-9+/]{60,76}={0,2}(?=[ \t\r]*$)")


def _redact_key_end(match: re.Match[str]) -> str:
    """A path may be as long, and have all kinds of letters."""
    letters = re.sub("[+/=]", "", match.group())
    return REDACTED if secret_words.is_random(letters) else match.group()


@dataclass(frozen=True, slots=True)
class SearchedForms:
    """The forms and kinds of tokens to search for: all, or those with hints in a document."""

    forms: tuple[Form, ...]
    keywords: tuple[str, ...]

    def within(self, low: str) -> SearchedForms:
        """Those with hints in a text in small letters."""
        forms = tuple([form for form in self.forms if _hinted(form, low)])
        return SearchedForms(forms, tuple([keyword for keyword in self.keywords if keyword in low]))

    def redact(self, text: str, low: str, whole: Callable[[str], str]) -> str:
        """A text without secrets in these forms and without tokens; `low` is it in small letters.

        `whole` redacts by names too: encoded content is a text of its own.
        """
        if is_long := _LONG.search(text):
            text = redact_tokens(text, " ".join(_LONG.findall(low)), self.keywords, REDACTED)
            text = _KEY_LINE.sub(rf"\g<is>{REDACTED}\g<end>", text)
            text = _KEY_END.sub(_redact_key_end, text)
            text = _BASE64.sub(secret_words.encoded(REDACTED, whole), text)
        for form in self.forms:
            if _hinted(form, low):
                text = form.redact(text)
        text = secret_words.redact_random(text, REDACTED) if is_long else text
        return secret_words.whole_words(text) if is_long and REDACTED in text else text


def _hinted(form: Form, low: str) -> bool:
    for hint in form.hints:  # noqa: SIM110 (three times as fast as any() of it)
        if hint in low:
            return True
    return False


@cache
def every_form() -> SearchedForms:
    """Every form and kind of token."""
    return SearchedForms(FORMS, tuple(keywords()))


def redact_across(text: str, low: str) -> str:
    """A text without keys and values that span lines."""
    for form in FORMS:
        if form.across and _hinted(form, low):
            text = form.pattern.sub(form.put, text)
    return text
