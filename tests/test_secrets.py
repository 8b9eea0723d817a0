"""Secrets never reach the warehouse; what only looks like one does."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.vocabulary.secret_commands import REDACTED
from bench.vocabulary.secrets import is_secret_name, redact, redact_text

SECRET_NAMES = [
    "token",
    "api_key",
    "apikey",
    "apiKey",
    "API-KEY",
    "wandb_api_key",
    "WANDB_API_KEY",
    "wandb-key",
    "hf_token",
    "HFToken",
    "aws_secret_access_key",
    "password",
    "DB_PASS",
    "passwd",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "Authorization",
    "OPENAI_API_KEYS",
    "MYSQL_PWD",
]
PLAIN_NAMES = [
    "tokenizer_type",
    "TOKENIZERS_PARALLELISM",
    "consumed tokens",
    "tokens_per_s",
    "num_tokens",
    "mean_token_accuracy",
    "keyvalue",
    "key_value_size",
    "fim_eod_token",
    "apply_query_key_layer_scaling",
    "moe_token_dispatcher_type",
    "moe_token_drop_policy",
    "linear_num_key_heads",
    "author",
    "monkey",
    "compass",
    "forward_pass",
    "json_keys",
    "PWD",
]
SECRETS = st.text(string.ascii_letters + string.digits, min_size=13, max_size=60)


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_values_of_secret_names_go(name: str) -> None:
    assert redact(name, "abcDEF123456xyz") == REDACTED


@pytest.mark.parametrize("name", PLAIN_NAMES)
def test_values_of_plain_names_stay(name: str) -> None:
    assert not is_secret_name(name)
    assert redact(name, "allgather") == "allgather"


@pytest.mark.parametrize("value", ["None", "True", "False", ""])
def test_nothing_is_no_secret(value: str) -> None:
    assert redact("hf_token", value) == value


def test_a_count_of_tokens_is_no_secret_but_a_numeric_password_is() -> None:
    assert redact("fim_token", "512") == "512"
    assert redact("password", "512") == REDACTED


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("export HF_TOKEN=hf_xxx", "export HF_TOKEN=[redacted]"),
        ("+ export 'HF_TOKEN=hf_xxx'", "+ export 'HF_TOKEN=[redacted]'"),
        ("run --wandb-key abc --lr 1", "run --wandb-key [redacted] --lr 1"),
        ("run --wandb-key=abc --lr 1", "run --wandb-key=[redacted] --lr 1"),
        ("2nd_api_key=abc .hf_token=abc", "2nd_api_key=[redacted] .hf_token=[redacted]"),
        ("git clone https://user:pass@host/x", "git clone https://[redacted]@host/x"),
        ("{'api_key': 'a b c', 'lr': 1}", "{'api_key': [redacted], 'lr': 1}"),
        ('PASSWORD="a \\" b" next', "PASSWORD=[redacted] next"),
        ("Authorization: Bearer abcdef123", "Authorization: Bearer [redacted]"),
        ("wandb login 0123456789abcdef0123", "wandb login [redacted]"),
        ("see hf_abcdefghijklmnopqrst now", "see [redacted] now"),
        ("ghp_abcdefghijklmnopqrst0123", "[redacted]"),
        ("id AKIAIOSFODNN7EXAMPLE", "id [redacted]"),
        ("sk-proj-abcdefghijklmnop", "[redacted]"),
        ("xoxb-1234567890-abc", "[redacted]"),
        ("http_proxy=http://alice:p@ss@proxy:80", "http_proxy=http://[redacted]@proxy:80"),
        ("curl -s -u me:abc https://x", "curl -s -u [redacted] https://x"),
        ("sshpass -p abc ssh x", "sshpass -p [redacted] ssh x"),
        ("os.environ['WANDB_API_KEY'] = 'abc'", "os.environ['WANDB_API_KEY'] = [redacted]"),
        (
            "AZURE=AccountName=x;AccountKey=abc==;End=y",
            "AZURE=AccountName=x;AccountKey=[redacted];End=y",
        ),
        ("see https://x.net/c?sv=2020&sig=abc%2F", "see https://x.net/c?sv=2020&sig=[redacted]"),
        ("Authorization: Token abcdef123", "Authorization: [redacted] [redacted]"),
        (
            "https://hooks.slack.com/services/T0/B0/XX",
            "https://hooks.slack.com/services/[redacted]",
        ),
        ("docker login -u me -p abc r.io", "docker login -u me -p [redacted] r.io"),
        ("PGPASSWORD=abc psql", "PGPASSWORD=[redacted] psql"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.sig", "[redacted]"),
    ],
)
def test_free_text(text: str, clean: str) -> None:
    assert redact_text(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        " iteration 1/ 5 | consumed tokens: 512 | lm loss: 5.760191E+00 | TFLOPs: 0.01 |",
        "--tokenizer-type GPT2BPETokenizer --seq-length 1024",
        "[before the start of training step] datetime: 2026-11-20 08:57:55",
        "TOKENIZERS_PARALLELISM=false python task-abcdefghijklmnopqrstuv.py",
        "config_TP1PP1SH2SP8A10080Gx1x8",
        "scp host:/path user@host",
        ':::MLLOG {"event_type": "INTERVAL_END", "key": "run_stop", "value": 0.92}',
    ],
)
def test_plain_text_stays(text: str) -> None:
    assert redact_text(text) == text


def test_what_looks_like_an_event_is_a_secret_of_other_names() -> None:
    assert redact_text('api_key: "run_stop"') == "api_key: [redacted]"
    assert redact_text('"key": "abcd1234efgh"') == '"key": [redacted]'


@given(SECRETS, st.sampled_from(["HF_TOKEN={}", "--api-key {}", "x://u:{}@h/p", "token: '{}'"]))
def test_no_secret_survives(secret: str, form: str) -> None:
    clean = redact_text("a " + form.format(secret) + " z")
    assert secret not in clean
    assert clean.startswith("a ") and clean.endswith(" z")


@given(st.text(string.printable, max_size=120))
def test_twice_is_once(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once
