"""Names of hosts, users and paths taken out of records, the same name by the same word."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from bench.records.scrub import Scrubber, parse_kinds
from bench.schema.errors import BenchError
from tests.checkouts import ROWS
from tests.making import log, table
from tests.program import quick
from tests.recording import all_json, files


def test_scrub_replaces_alike_everywhere(folder: Path) -> None:
    head = "using world size: 8, data-parallel-size: 8, tensor-model-parallel size: 1\n"
    secret = (
        "------------------------ arguments ------------------------\n"
        "  save ............................................ /lustre/alice/run 7/ckpt\n"
        "  data_path ....................................... ['/home/alice/data/pile']\n"
        "  master_addr ..................................... node017.example.org\n"
        "  wandb_user ...................................... alice\n"
        "-------------------- end of arguments ---------------------\n"
    )
    (folder / "x.log").write_text(head + secret + log(3))
    for name, kinds in (("plain", ""), ("a", "hosts,users,paths"), ("b", "paths,users,hosts")):
        more = ["--scrub", kinds] if kinds else []
        assert quick(folder, "export", "--records", name, "x.log", *more).code == 0
    text = next((folder / "plain").rglob("*.json")).read_text()
    assert "alice" in text and "node017.example.org" in text and "/home/alice/data" in text
    assert files(folder / "a") == files(folder / "b"), "the same word for the same name"
    text = next((folder / "a").rglob("*.json")).read_text()
    for word in ("alice", "node017", "example.org", "/home", "/lustre", "pile"):
        assert word not in text, word
    assert re.search(r"host-[0-9a-f]{8}", text) and re.search(r"path-[0-9a-f]{8}", text)
    done = quick(folder, "runs", "a", "plain", "--all", "--format", "json")
    assert len(json.loads(done.out)) == 1, "scrubbed or not, it is the same run"
    assert (
        quick(folder, "export", "--records", "again", "a", "--scrub", "hosts,users,paths").code == 0
    )
    again, once = (set(files(folder / name).values()) for name in ("again", "a"))
    assert again == once, "scrubbing twice is scrubbing once"


@pytest.mark.parametrize(
    "text",
    [
        "1/4/1",
        "tokens/s/GPU",
        "w/o x",
        "GB/s",
        "2.2.0",
        "data/x/y.md",
        "1.36^/^^",
        "a - b",
        "TP/PP/DP",
        "/ GPU",
        "/24",
        "TFLOPs /GPU",
    ],
)
def test_scrub_leaves_what_is_no_name(text: str) -> None:
    assert Scrubber(("hosts", "users", "paths")).text(text) == text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ssh bob@login3", "users"), ("mail bob@example.com", "users"), ("/home/bob/x", "users"),
        ("at /data/x/y", "paths"), ("~/runs/bob", "paths"), ("'/a/b'", "paths"),
        ("10.0.0.12", "hosts"), ("https://wandb.corp.internal/x", "hosts"), ("node-17", "hosts"),
        ("gpu012,gpu013", "hosts"), ("bob@nid00012", "hosts"), ("jd@frontier12", "hosts"),
        ("STEP 19.0 ON r6i4n5 CANCELLED AT", "hosts"), ("--nodelist=n[01-04]", "hosts"),
        ("/blob//data/pile", "paths"), ("/scratch", "paths"),
        ("DATA=/pile", "paths"), ("'~/x'", "paths"), ("X=/c/d:/a/bob/x:/data/y", "paths"),
        ("-v /c/d:/data/y", "paths"), ("rank0:/data/x/y", "paths"), ("file:///data/x", "paths"),
    ],
)  # fmt: skip
def test_scrub_finds_names(text: str, kind: str) -> None:
    made = Scrubber((kind,)).text(text)
    assert re.search(rf"{kind[:-1]}-[0-9a-f]{{8}}", made), made
    for name in ("bob", "/data", "/a", "~", "0.0.12", "wandb", "node-17", "gpu01", "nid0", "pile",
                 "frontier", "r6i4n5", "n[01", "/blob"):  # fmt: skip
        is_of_it = name in text and not (name == "bob" and kind != "users")
        assert not is_of_it or name not in made, (name, made)
    assert Scrubber((kind,)).text(made) == made
    others = {"hosts", "users", "paths"} - {kind}
    assert not re.search(rf"{kind[:-1]}-[0-9a-f]{{8}}", Scrubber(others).text(text))


@pytest.mark.parametrize(
    ("uri", "left"),
    [
        ("logs/node012.log", "logs/host-*.log"), ("run_node012_x.log", "run_host-*_x.log"),
        ("10.0.0.7/x.log", "host-*/x.log"), ("home/bob/x.log", "home/user-*/x.log"),
        ("../bob/logs/gpu01.log", "path-*/host-*.log"), ("data/tables/001_1.3b.md", None),
        ("logs/slurm-4711.out", None), ("logs/2024-02-15/rank0.log", None),
    ],
)  # fmt: skip
def test_scrub_of_the_path_of_a_source(uri: str, left: str | None) -> None:
    scrubber = Scrubber(("hosts", "users", "paths"))
    made = scrubber.uri(uri)
    assert re.sub(r"-[0-9a-f]{8}", "-*", made) == (left or uri)
    assert scrubber.uri(made) == made


def test_a_name_is_one_wherever_it_stands(folder: Path) -> None:
    head = (
        "using world size: 8, data-parallel-size: 8, tensor-model-parallel size: 1\n"
        "------------------------ arguments ------------------------\n"
        "  hostfile ........................................ r31n07:8,r31n08:8\n"
        "  save ............................................ /home/alicia/ckpt\n"
        "  log_dir ......................................... C:\\Users\\alicia\\logs\n"
        "  vocab_file ...................................... ../../alicia/vocab.json\n"
        "  wandb_exp_name .................................. alicia-r31n07-nightly\n"
        "-------------------- end of arguments ---------------------\n"
    )
    (folder / "alicia_r31n07.log").write_text(head + log(3))
    kinds = ("--scrub", "hosts,users,paths")
    assert quick(folder, "export", "--records", "r", "alicia_r31n07.log", *kinds).code == 0
    [record] = all_json(folder / "r")
    text = json.dumps(record)
    for word in ("alicia", "r31n07", "r31n08", "Users", "vocab"):
        assert word not in text.replace("vocab_file", ""), word
    [hosts] = [row[2] for row in record["facts"]["arguments"] if row[0] == "hostfile"]
    first, second = hosts.split(",")
    assert first.endswith(":8") and first.split(":")[0] in record["source"]["uri"]
    assert second != first


def test_lists_of_nodes_are_their_nodes() -> None:
    scrubber = Scrubber(("hosts",))
    nodes = scrubber.named("SLURM_JOB_NODELIST", "r31n[07-08,11]").split(",")
    assert nodes == [scrubber.named("host", f"r31n{n}") for n in ("07", "08", "11")]
    assert len(scrubber.named("SLURM_NODELIST", "n[0-999999999]").split(",")) == 1


def test_scrub_takes_its_time() -> None:
    """Hostile text costs no more than it is long."""
    began = time.perf_counter()
    for text in ("=/" + "a" * 200_000 + "!", "=/" + "1." * 100_000 + "!", "/a" * 100_000):
        Scrubber(("hosts", "users", "paths")).text(text)
    assert time.perf_counter() - began < 20


def test_ids_of_scrubbed_records_cannot_be_tested(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An id is a digest of the path and the first line: with a key of the site nobody can guess."""
    (folder / "x.md").write_text(table(*ROWS))
    assert quick(folder, "export", "--records", "plain", "x.md").code == 0
    monkeypatch.setenv("BENCH_SCRUB_KEY", "site")
    for name in ("a", "b"):
        assert quick(folder, "export", "--records", name, "x.md", "--scrub", "paths").code == 0
    plain, made = (
        {(record["run"]["id"], record["table"]["id"]) for record in all_json(folder / name)}
        for name in ("plain", "a")
    )
    assert files(folder / "a") == files(folder / "b") and len(made) == len(ROWS)
    assert not {one for pair in plain for one in pair} & {one for pair in made for one in pair}
    done = quick(folder, "sql", "SELECT count(*) FROM runs", "a", "plain", "--format", "csv")
    assert done.out.split()[-1] == str(len(ROWS)), "they are the same runs all the same"
    assert quick(folder, "export", "--records", "c", "a", "--scrub", "paths").code == 0
    assert files(folder / "c") == files(folder / "a"), "scrubbing twice is scrubbing once"


def test_scrub_with_a_key_of_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Scrubber(("users",)).text("/home/bob/x")
    monkeypatch.setenv("BENCH_SCRUB_KEY", "site")
    assert Scrubber(("users",)).text("/home/bob/x") != plain


def test_scrub_knows_its_words(folder: Path) -> None:
    assert parse_kinds(" hosts,users ") == ("hosts", "users")
    with pytest.raises(BenchError, match="cannot scrub 'names'"):
        parse_kinds("names")
    assert quick(folder, "export", "--scrub", "hosts").code == 2
