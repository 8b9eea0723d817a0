"""Secrets of many kinds where people leave them: made anew from a seed, none is anybody's.

A context is a text with `{kind}` where a secret stands. Half of the contexts are for working on the
rules; the other half is looked at only to count what is missed.
"""

# ruff: noqa: E501 (lines as they are printed)

import base64
import random
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.secret_contexts import AROUND_SHAPES, CONTEXTS

_HEX, _UPPER = "0123456789abcdef", string.ascii_uppercase + string.digits
_ALNUM = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True)
class Example:
    """A text with secrets in it; `area` says what kind of file it is from."""

    area: str
    context: str
    text: str
    secrets: tuple[str, ...]
    held_out: bool


def examples(seed: int = 20261124, values: int = 2) -> Iterator[Example]:
    """Each context with so many draws of values; the same for the same seed."""
    chance = random.Random(seed)
    contexts = [(area, each) for area, listed in CONTEXTS.items() for each in listed]
    contexts += [("log", each.replace("SHAPE", kind)) for kind in SHAPES for each in AROUND_SHAPES]
    for number, (area, context) in enumerate(contexts):
        for _ in range(values):
            text, secrets = _filled(context, chance)
            yield Example(area, context, text, secrets, number % 2 == 1)


def _filled(context: str, chance: random.Random) -> tuple[str, tuple[str, ...]]:
    secrets: list[str] = []

    def put(found: re.Match[str]) -> str:
        made = KINDS[found[1]](chance)
        # Of what stands on several lines each line is a secret of its own.
        lines = made.replace("\\n", "\n").split("\n")
        secrets.extend(line for line in lines if "-----" not in line)
        return made

    return re.sub(r"\{(\w+)\}", put, context), tuple(secrets)


def _of(letters: str, length: int, before: str = "") -> Callable[[random.Random], str]:
    return lambda chance: before + "".join(chance.choices(letters, k=length))


def _opaque(chance: random.Random) -> str:
    return "".join(chance.choices(_ALNUM, k=chance.randint(20, 40))) + "7q"


def _password(chance: random.Random) -> str:
    return "".join(chance.choices(_ALNUM, k=6)) + chance.choice("!#%^*+~") + _of(_ALNUM, 5)(chance)


def _base64(chance: random.Random) -> str:
    return base64.b64encode(chance.randbytes(chance.choice((30, 33, 48)))).decode()


def _jwt(chance: random.Random) -> str:
    claims = base64.urlsafe_b64encode(b'{"sub":"' + _opaque(chance).encode() + b'"}').decode()
    return f"eyJhbGciOiJIUzI1NiJ9.{claims.rstrip('=')}.{_of(_ALNUM, 43)(chance)}"


def _in_base64(chance: random.Random) -> str:
    return base64.b64encode(f"WANDB_API_KEY={_opaque(chance)}\n".encode()).decode()


def _login(chance: random.Random) -> str:
    return base64.b64encode(f"me:{_password(chance)}".encode()).decode()


def _body(chance: random.Random) -> str:
    return base64.b64encode(chance.randbytes(48)).decode()


def _key_file(chance: random.Random) -> str:
    inside = "\n".join(_body(chance) for _ in range(4))
    return f"-----BEGIN RSA PRIVATE KEY-----\n{inside}\n-----END RSA PRIVATE KEY-----"


def _key_text(chance: random.Random) -> str:
    return _key_file(chance).replace("RSA ", "").replace("\n", "\\n")


SHAPES: dict[str, Callable[[random.Random], str]] = {
    "hugging_face": _of(string.ascii_letters, 34, "hf_"),
    "github": _of(_ALNUM, 36, "ghp_"),
    "github_fine": _of(_ALNUM, 82, "github_pat_"),
    "gitlab": _of(_ALNUM, 20, "glpat-"),
    "gitlab_runner": _of(_ALNUM, 20, "glrt-"),
    "aws_id": _of(string.ascii_uppercase + "234567", 16, "AKIA"),
    "openai": lambda chance: f"sk-proj-{_of(_ALNUM, 74)(chance)}T3BlbkFJ{_of(_ALNUM, 74)(chance)}",
    "anthropic": lambda chance: f"sk-ant-api03-{_of(_ALNUM, 93)(chance)}AA",
    "slack_bot": lambda c: f"xoxb-{_of('123456789', 11)(c)}-{_of('123456789', 12)(c)}-{_of(_ALNUM, 24)(c)}",
    "slack_app": lambda c: f"xapp-1-{_of(_UPPER, 11)(c)}-{_of('123456789', 13)(c)}-{_of(_HEX, 64)(c)}",
    "google": _of(_ALNUM, 35, "AIza"),
    "jwt": _jwt,
    "stripe": _of(_ALNUM, 24, "sk_live_"),
    "sendgrid": lambda c: f"SG.{_of(_ALNUM, 22)(c)}.{_of(_ALNUM, 43)(c)}",
    "npm": _of(_ALNUM, 36, "npm_"),
    "pypi": _of(_ALNUM, 70, "pypi-AgEIcHlwaS5vcmc"),
    "docker": _of(_ALNUM, 27, "dckr_pat_"),
    "nvidia": _of(_ALNUM, 64, "nvapi-"),
    "databricks": _of(_HEX, 32, "dapi"),
    "digitalocean": _of(_HEX, 64, "dop_v1_"),
    "vault": _of(_ALNUM, 95, "hvs."),
    "perplexity": _of(_ALNUM, 48, "pplx-"),
    "replicate": _of(_ALNUM, 37, "r8_"),
    "groq": _of(_ALNUM, 52, "gsk_"),
    "xai": _of(_ALNUM, 80, "xai-"),
    "linear": _of(_ALNUM, 40, "lin_api_"),
    "notion": lambda c: f"ntn_{_of('123456789', 11)(c)}{_of(_ALNUM, 35)(c)}",
    "tailscale": lambda c: f"tskey-auth-{_of(_ALNUM, 12)(c)}-{_of(_ALNUM, 32)(c)}",
    "telegram": lambda c: f"{_of('123456789', 10)(c)}:AA{_of(_ALNUM, 33)(c)}",
    "shopify": _of(_HEX, 32, "shpat_"),
    "grafana": lambda c: f"glsa_{_of(_ALNUM, 32)(c)}_{_of(_HEX, 8)(c)}",
    "postman": lambda c: f"PMAK-{_of(_HEX, 24)(c)}-{_of(_HEX, 34)(c)}",
}  # fmt: skip
KINDS: dict[str, Callable[[random.Random], str]] = {
    **SHAPES, "opaque": _opaque, "password": _password, "base64": _base64, "in_base64": _in_base64,
    "login": _login, "hex32": _of(_HEX, 32), "hex40": _of(_HEX, 40), "body": _body,
    "key_file": _key_file, "key_text": _key_text,
    "uuid": lambda c: "-".join(_of(_HEX, n)(c) for n in (8, 4, 4, 4, 12)),
}  # fmt: skip
