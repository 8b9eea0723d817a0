"""Many secrets where people leave them: none is stored or shown, and nothing else goes."""

import json
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest
from bench.schema.opening import open_read
from bench.vocabulary.secret_forms import FORMS
from bench.vocabulary.secret_rules import rules
from bench.vocabulary.secrets import redact_lines, redact_text
from tests import (
    harmless_lines,
    secret_assorted,
    secret_fresh,
    secret_list,
    secret_others,
    secret_providers,
    secret_today,
    secret_unseen,
)
from tests.program import quick
from tests.secret_corpus import Example, examples

EVERY = list(examples())
TODAY = list(secret_list.examples(texts=secret_today.TEXTS))
UNSEEN = list(secret_list.examples(texts=secret_unseen.TEXTS))
FURTHER = list(secret_list.examples(texts=(*secret_fresh.TEXTS, *secret_providers.TEXTS)))
DATA = Path(__file__).parent.parent / "data"
STEP = (
    " iteration {:8d}/     500 | consumed samples: 512 | elapsed time per iteration (ms): 150.0 |"
    " learning rate: 1.0E-04 | global batch size: 32 | lm loss: 5.76E+00 | loss scale: 1.0 |"
    " grad norm: 1.2 | number of skipped iterations: 0 | number of nan iterations: 0 |"
)


def missed(example: Example) -> list[str]:
    """Logs are read line by line, all else as a whole."""
    by_line = example.area == "log" and "-----BEGIN" not in example.text
    clean = (
        "\n".join(map(redact_text, example.text.split("\n")))
        if by_line
        else redact_lines(example.text)
    )
    return [secret for secret in example.secrets if secret in clean]


@pytest.mark.parametrize("held_out", [False, True])
def test_no_secret_of_the_corpus_survives(held_out: bool) -> None:
    half = [example for example in EVERY if example.held_out == held_out]
    assert len({secret for example in half for secret in example.secrets}) > 170
    assert [(one.context, left) for one in half if (left := missed(one))] == []


def on_pages_and_in_logs(listed: Sequence[tuple[str, tuple[str, ...]]]) -> list[Example]:
    """Each text on a page, and in a log if it is one line."""
    found = [Example("page", text, text, secrets, True) for text, secrets in listed]
    return found + [Example("log", text, text, secrets, True) for text, secrets in listed
                    if "\n" not in text]  # fmt: skip


def test_no_secret_of_another_list_survives() -> None:
    listed = list(secret_list.examples())
    found = [Example("log", text, text, secrets, True) for text, secrets in listed]
    found += [Example("page", text, text, secrets, True) for text, secrets in listed]
    assert len(found) == 200 and all(one.secrets for one in found)
    assert [(one.area, one.context, left) for one in found if (left := missed(one))] == []


def test_no_secret_of_a_third_list_survives() -> None:
    listed = list(secret_list.examples(texts=secret_others.TEXTS))
    found = on_pages_and_in_logs(listed)
    assert len(found) > 400 and all(one.secrets for one in found)
    assert [(one.area, one.context, left) for one in found if (left := missed(one))] == []


@pytest.mark.parametrize("seed", [3, 77])
def test_no_secret_of_services_of_today_survives(seed: int) -> None:
    listed = list(secret_list.examples(seed, secret_today.TEXTS))
    found = on_pages_and_in_logs(listed)
    assert len(listed) + len(secret_today.LEFT) == 174
    assert [(one.area, one.context, left) for one in found if (left := missed(one))] == []


@pytest.mark.parametrize("seed", [3, 77, 2026])
def test_no_secret_of_contexts_that_nobody_tuned_to_survives(seed: int) -> None:
    listed = list(secret_list.examples(seed, secret_unseen.TEXTS))
    found = on_pages_and_in_logs(listed)
    assert len(listed) + len(secret_unseen.LEFT) == 261
    assert [(one.area, one.context, left) for one in found if (left := missed(one))] == []


@pytest.mark.parametrize("seed", [3, 77, 2026])
def test_no_secret_of_listings_tables_and_errors_survives(seed: int) -> None:
    listed = list(secret_list.examples(seed, secret_fresh.TEXTS))
    found = on_pages_and_in_logs(listed)
    assert len(listed) + len(secret_fresh.LEFT) == 218
    assert [(one.area, one.context, left) for one in found if (left := missed(one))] == []


@pytest.mark.parametrize("seed", [5, 77, 2026])
def test_no_secret_of_further_providers_survives(seed: int) -> None:
    listed = list(secret_list.examples(seed, secret_providers.TEXTS))
    found = on_pages_and_in_logs(listed)
    assert len(listed) + len(secret_providers.LEFT) == 167
    assert [(one.area, one.context, left) for one in found if (left := missed(one))] == []


@pytest.mark.parametrize("seed", [5, 77, 2026])
def test_no_secret_of_commands_settings_and_errors_survives(seed: int) -> None:
    listed = list(secret_list.examples(seed, secret_assorted.TEXTS))
    assert len(listed) == 127 and all(secrets for _, secrets in listed)
    found = on_pages_and_in_logs(listed)
    assert [(one.area, one.context, left) for one in found if (left := missed(one))] == []


def test_no_line_that_looks_like_a_secret_is_redacted() -> None:
    lines = harmless_lines.LINES.splitlines()
    assert len(lines) == 300
    assert [line for line in lines if redact_text(line) != line] == []
    assert redact_lines(harmless_lines.LINES) == harmless_lines.LINES


def test_no_word_is_redacted_in_part() -> None:
    """Half of a token may be enough, and hides that there was one."""
    for text, secrets in [*UNSEEN, *FURTHER]:
        clean = redact_lines(text)
        for secret in secrets:
            parts = {secret[at : at + 12] for at in range(len(secret) - 11)}
            assert not [part for part in parts if part in clean], (text, clean)


@pytest.mark.parametrize(
    "text",
    [
        'Cannot open file "/lake/secret.parquet": No such file or directory',
        "keys/secret.log: Permission denied",
        "gpu_pw: 250W, pw=1.5, cfg.pw_kernel=1x1",
        "cd /lus/flare/projects/AuroraGPT/foremans/projects/saforem2/ezpz",
        "AuthType=auth/munge token_type=bearer",
        "PWD=/home/me/run12 pwd=exp_12",
        "model FLOPs a token: F7 where the shape is known, else F5",
        "AuthError: token expired after 3600 s",
        "auth: {'type': 'none', 'lr': 0.1}",
        "https://colab.research.google.com/drive/1QX4yH3zRFF3Xiibf1aahETcSQ5nbcUMz",
        "transformers.models.qwen2_moe.modeling_qwen2_moe.Qwen2MoeSparseMoeBlock",
        "--world_info=eyJ3b3JrZXItMCI6IFswLCAxLCAyLCAzLCA0LCA1LCA2LCA3XX0=",
        "void cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256_32x3_tn_align8",
        "squeue -u me -p a100-80gb-2h",
        "<th>tokens</th><td>3512.5</td>",
        "key=value: ` iteration=       1/     500`",
        "passphrase of step 3: 12.5%, 8x80GB, lr=1e-4",
        "cmd: ['python', '-u', 'train.py', '--tp', '4', 'curl']",
        "attention(key=[1, 2, 3], query=[q0]) token / s: 1234.5",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact_text(text) == text and redact_lines(text) == text


def test_nothing_of_real_logs_and_tables_is_taken_for_a_secret() -> None:
    for path in (*DATA.glob("logs/*.log"), *DATA.glob("tables/*.md")):
        text = path.read_text("utf-8", "replace")
        assert redact_lines(text) == text, path.name
        for line in text.split("\n"):
            assert redact_text(line) == line


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus as files of a training: a log, a script, settings, a listing, a page."""
    top = tmp_path_factory.mktemp("leaky")
    by_area: dict[str, list[str]] = defaultdict(list)
    for example in EVERY:
        by_area[example.area].append(example.text)
    steps = [STEP.format(step) for step in range(1, 6)]
    log = [*by_area["deepspeed"], *steps, *by_area["log"], *by_area["environment"], *steps[-1:]]
    (top / "train.log").write_text("\n".join(log) + "\n")
    failed = [f"Traceback (most recent call last):\n{line}" for line in by_area["log"]]
    for number, text in enumerate(failed):
        (top / f"failed{number}.log").write_text("\n".join([*steps, text, ""]))
    today = [text for text, _ in TODAY]
    for number, text in enumerate(today):
        failed_so = f"Traceback (most recent call last):\nRuntimeError: {text}"
        (top / f"today{number}.log").write_text("\n".join([*steps, text, failed_so, ""]))
    unseen = [text for text, _ in UNSEEN if "\n" not in text]
    (top / "unseen.log").write_text("\n".join([*steps, *unseen, *steps[-1:]]) + "\n")
    (top / "today.yaml").write_text("\n".join(today) + "\n")
    (top / "run.sh").write_text("#!/bin/bash\n" + "\n".join(by_area["script"]) + "\n")
    (top / "environment.txt").write_text("\n".join(by_area["environment"]) + "\n")
    (top / "requirements.txt").write_text("\n".join(by_area["pip"]) + "\n")
    (top / "config.yaml").write_text("\n".join(by_area["wandb"] + by_area["hydra"]) + "\n")
    table = "| Nodes | TP | Sec/it | TFLOPs |\n| - | - | - | - |\n| 8 | 4 | 1.5 | 50.1 |\n"
    page = [*today, *unseen, *by_area["markdown"], *by_area["sacct"], *by_area["script"]]
    (top / "README.md").write_text(f"# Runs\n\n{table}\n" + "\n\n".join(page) + "\n")
    return top


@pytest.fixture(scope="module")
def leaky(folder: Path) -> Path:
    db = folder / "bench.duckdb"
    ingest([folder], db)
    return db


def survivors(text: str) -> set[str]:
    listed = [example.secrets for example in EVERY] + [secrets for _, secrets in TODAY + UNSEEN]
    return {secret for secrets in listed for secret in secrets if secret in text}


def test_no_secret_reaches_the_file_or_the_records(leaky: Path, tmp_path: Path) -> None:
    assert survivors(leaky.read_bytes().decode("latin-1")) == set()
    with open_read(leaky) as warehouse:
        found = "\n".join(
            str(row)
            for (table,) in warehouse.rows(
                "SELECT table_name FROM duckdb_tables() WHERE database_name = 'wh'"
                " AND schema_name = 'raw'"
            )
            for row in warehouse.rows(f"FROM raw.{table}")
        )
    assert survivors(found) == set(), "also where the file is compressed"
    quick(leaky.parent, "export", "--records", str(tmp_path / "records"))
    kept = "".join(path.read_text() for path in (tmp_path / "records").rglob("*.json"))
    assert "[redacted]" in kept and survivors(kept) == set()


def test_what_was_redacted_is_told_by_line_and_not_by_value(leaky: Path) -> None:
    with open_read(leaky) as warehouse:
        told = warehouse.rows("SELECT uri, line, message FROM warnings WHERE code = 'redacted'")
    assert len(told) > 20 and all(line for _, line, _ in told)
    assert {message for *_, message in told} == {"a secret was redacted"}


def test_the_doctor_shows_none(folder: Path) -> None:
    shown = quick(folder, "doctor", "train.log", "unseen.log", "--all", "--format", "json")
    assert survivors(shown.out + shown.err) == set()
    drafts = [quick(folder, "doctor", "train.log", "--draft", str(n)).out for n in range(1, 8)]
    drafts += [
        quick(folder, "doctor", "unseen.log", "--draft", str(n)).out for n in range(1, 40, 6)
    ]
    assert survivors("".join(drafts)) == set()


def test_an_error_quotes_none(folder: Path) -> None:
    asked = quick(folder, "runs", "--where", "x = 'hf_abcdefghijklmnopqrstuvwxyzabcdefgh'")
    assert asked.code and "abcdefghijkl" not in asked.err


# What people write into plans: as a value of the environment, and as words of a command.
IN_ENV = (
    "HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "OPENAI_API_KEY",
    "NGC_APIKEY", "AZURE_CLIENT_SECRET", "DB_PASS", "https_proxy", "COMET_API_KEY", "SENTRY_DSN",
    "GIT_CREDENTIALS",
)  # fmt: skip
IN_COMMAND = (
    "--api-key {}",
    "--hub_token={}",
    "+logger.wandb.api_key={}",
    "--proxy http://me:{}@proxy:3128",
    "--header 'Authorization: Bearer {}'",
    "--store s3://x?X-Amz-Signature={}",
    "--db postgresql://me:{}@db/x",
    "WANDB_API_KEY={}",
    "--password '{}'",
    "hub.token={}",
    "--webhook https://hooks.slack.com/services/T1/B1/{}",
)


@pytest.mark.slow
def test_a_launch_tells_none(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    made = secret_list.words(len(IN_ENV) + len(IN_COMMAND))
    env = {name: f"http://me:{next(made)}@x" if "proxy" in name or "DSN" in name else next(made)
           for name in IN_ENV}  # fmt: skip
    words = [word.format(next(made)) for word in IN_COMMAND]
    command = json.dumps(f"echo {{n}} {' '.join(words)}")
    plan = f"trainer = 'command'\ncommand = {command}\nvalues = {{ n = [1, 2] }}\n[env]\n"
    plan += "".join(f"{name} = {json.dumps(value)}\n" for name, value in env.items())
    (tmp_path / "plan.toml").write_text(plan)
    secrets = list(secret_list.words(len(IN_ENV) + len(IN_COMMAND)))
    said = [quick(tmp_path, "launch", "plan.toml", *more).text for more in (["--dry-run"], [])]
    assert "[2/2]" in said[1]
    said += [quick(tmp_path, word).text for word in ("runs", "failures", "report")]
    assert [one for one in secrets if one in "".join(said)] == []
    # The program itself prints its words: into a log, from where nothing goes on.
    kept = {"plan.toml", "command.sh", *(file.name for file in tmp_path.rglob("*.log"))}
    told = {
        file.name: [one for one in secrets if one.encode() in file.read_bytes()]
        for file in tmp_path.rglob("*")
        if file.is_file() and file.name not in kept
    }
    assert {name: left for name, left in told.items() if left} == {}


PARTS = ["password ", "a@", "--", "'--", "://", "&sig=", "-----BEGIN PRIVATE KEY-----", "curl "]
PARTS += [
    "mysql -p",
    "echo a | ",
    "pgpass a:",
    "a:1:b:",
    '"value":',
    "a.key",
    "key: desc:",
    "eyJa.",
]
PARTS += ["Bearer ", "A", "a1", "'", "key=", "key,", "ab/", "....", " ..... ", "user 'a' "]


@pytest.mark.parametrize("part", PARTS)
def test_every_pattern_is_linear(part: str) -> None:
    patterns = [(form.hints[0], form.pattern) for form in FORMS]
    patterns += [(rule.keywords[0], rule.pattern) for rule in rules()]
    for hint, pattern in patterns:
        text = (hint + part) * (8192 // len(hint + part))
        began = time.process_time()
        pattern.sub("", text)
        assert time.process_time() - began < 0.5, (pattern.pattern, part)
