"""A job's folder is a bundle: a companion belongs to a certain run, or to none, with a report."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from bench.schema.sidecar_links import Companion, Log, links
from tests.making import ARGUMENTS, iteration
from tests.program import quick, selected

SCRIPT = "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --job-name=gpt\n{}export NCCL_DEBUG=INFO\n"
SCRIPT += "HF_TOKEN=hf_abcdefghijklmnop1234 srun python t.py --num-layers 24 \\\n"
SCRIPT += "  --tensor-model-parallel-size 2\n"


def log(layers: int = 24, step_ms: float = 100.0) -> str:
    head = ARGUMENTS.format(layers=layers)
    return head + "".join(iteration(number, step_ms) for number in range(1, 6))


def files(place: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = place / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_what_a_script_states_belongs_to_the_run_beside_it(folder: Path) -> None:
    files(folder, a__job_DOT_sh=SCRIPT.format(""), a__train_DOT_log=log(),
          a__requirements_DOT_txt="torch==2.3.0\n",
          a__ds_DOT_json='{"zero_optimization": {"stage": 1},\n"train_batch_size": 16}',
          )  # fmt: skip
    done = quick(folder, "ingest", "a")
    assert done.code == 0
    assert "a/ds.json:2 states gbs = 16, but the source states 8: 8 is used" in done.err
    [row] = selected(
        folder, "SELECT nodes, zero_stage, gbs, gbs_logged, annotated FROM configurations"
    )
    assert row == {"nodes": 4, "zero_stage": 1, "gbs": 8, "gbs_logged": 8.0, "annotated": None}
    flags = selected(folder, "SELECT name, value, line, file FROM env_flags")
    assert flags == [{"name": "NCCL_DEBUG", "value": "INFO", "line": 4, "file": "a/job.sh"}]
    versions = selected(folder, "SELECT value, line, file FROM facts WHERE field = 'torch_version'")
    assert versions == [{"value": "2.3.0", "line": 1, "file": "a/requirements.txt"}]
    shown = quick(folder, "show", "a/train.log:1").out
    assert "a/job.sh:2" in shown and "its job script" in shown and "not used: the source" in shown
    tree = quick(folder, "explain", "a/train.log:1.nodes").out
    assert "nodes = 4  <- job:2 '#SBATCH --nodes=4'  [by its job script]" in tree
    facts, flags = selected(folder, "SELECT * FROM facts"), selected(folder, "FROM env_flags")
    everything = str(facts) + str(flags)
    assert "hf_abcdef" not in everything
    [row] = json.loads(quick(folder, "runs", "a", "--format", "json").out)
    assert row["nodes"] == 4, "and in memory"
    assert quick(folder, "ingest", "-q", "a").code == 0
    assert len(selected(folder, "FROM companions")) == 3


def test_a_companion_that_has_changed_is_read_again(folder: Path) -> None:
    files(folder, a__job_DOT_sh=SCRIPT.format(""), a__train_DOT_log=log())
    quick(folder, "ingest", "-q", "a")
    files(folder, a__job_DOT_sh=SCRIPT.format("").replace("=4", "=2"))
    quick(folder, "ingest", "-q", "a")
    assert selected(folder, "SELECT nodes FROM configurations") == [{"nodes": 2}]
    (folder / "a" / "job.sh").write_text("nothing\n")
    quick(folder, "ingest", "-q", "a")
    assert selected(folder, "SELECT nodes FROM configurations") == [{"nodes": None}]


def test_a_script_of_another_run_is_left_out_and_reported(folder: Path) -> None:
    files(folder, a__job_DOT_sh=SCRIPT.format(""), a__train_DOT_log=log(layers=48))
    done = quick(folder, "ingest", "a")
    why = "a/job.sh: not used: contradicts the log in layers; probably of another run"
    assert why in done.err
    assert selected(folder, "SELECT nodes FROM configurations") == [{"nodes": None}]


def test_one_script_and_many_logs_go_together_by_name_alone(folder: Path) -> None:
    output = "#SBATCH --output=%x-%j.out\n"
    files(folder, a__job_DOT_sh=SCRIPT.format(output), b__job_DOT_sh=SCRIPT.format(""))
    (folder / "a" / "gpt-81.out").write_text(log())
    (folder / "a" / "other.out").write_text(log(step_ms=101.0))
    (folder / "b" / "x.log").write_text(log(step_ms=102.0))
    (folder / "b" / "y.log").write_text(log(step_ms=103.0))
    done = quick(folder, "ingest", ".")
    assert "b/job.sh: not used: ambiguous: 2 logs in its directory" in done.err
    found = selected(folder, "SELECT uri, nodes FROM configurations WHERE nodes IS NOT NULL")
    assert found == [{"uri": "a/gpt-81.out", "nodes": 4}]


def test_folders_of_weights_and_biases_and_of_hydra(folder: Path) -> None:
    metadata = '{"gpu": "NVIDIA H100 80GB HBM3", "gpu_count": 8}'
    own, above = folder / "w/wandb/run-1-a/files", folder / "v/wandb/run-2-b/files"
    for place in (own, above):
        place.mkdir(parents=True)
        (place / "wandb-metadata.json").write_text(metadata + " " * len(place.as_posix()[-5:]))
    (own / "output.log").write_text(log())
    (above / "wandb-metadata.json").write_text(metadata.replace("8}", "4}"))
    (folder / "v" / "train.log").write_text(log(step_ms=101.0))
    (folder / "h" / ".hydra").mkdir(parents=True)
    (folder / "h" / ".hydra" / "config.yaml").write_text("trainer:\n  num_nodes: 2\n")
    (folder / "h" / "train.log").write_text(log(step_ms=102.0))
    quick(folder, "ingest", "-q", ".")
    query = "SELECT uri, device, devices_per_node, nodes FROM configurations ORDER BY uri"
    assert selected(folder, query) == [
        {"uri": "h/train.log", "device": None, "devices_per_node": None, "nodes": 2},
        {"uri": "v/train.log", "device": "NVIDIA H100 80GB HBM3", "devices_per_node": 4,
         "nodes": None},
        {"uri": "w/wandb/run-1-a/files/output.log", "device": "NVIDIA H100 80GB HBM3",
         "devices_per_node": 8, "nodes": None},
    ]  # fmt: skip


def test_the_output_that_weights_and_biases_kept_of_a_log_is_no_second_run(folder: Path) -> None:
    own = folder / "job/wandb/run-1-a/files"
    printed = {folder / "job/logs/slurm-77.out": "+ export NCCL_DEBUG=INFO\n" + log(),
               own / "output.log": log(), own / "config.yaml": "hidden_size:\n  value: 64\n",
               folder / "other/wandb/run-2-b/files/output.log": log() + "\n",
               folder / "job/repeat/train.log": log(step_ms=101.0)}  # fmt: skip
    for path, text in printed.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for _ in range(2):
        quick(folder, "ingest", "-q", ".")
        assert selected(folder, "SELECT uri, hidden FROM configurations ORDER BY uri") == [
            {"uri": "job/logs/slurm-77.out", "hidden": 64},
            {"uri": "job/repeat/train.log", "hidden": None},
            {"uri": "other/wandb/run-2-b/files/output.log", "hidden": None},
        ]
    (own / "output.log").write_text(log(step_ms=102.0))
    quick(folder, "ingest", "-q", ".")
    assert len(selected(folder, "FROM runs")) == 4, "other times are another run"


def made(*logs: str, **names: Any) -> tuple[list[Log], list[Companion]]:
    paths = [PurePosixPath(path) for path in logs]
    found = [Log(path.name, (path,), (f"run of {path.name}",),
                 frozenset(names.get("numbers", {}).get(path.name, ())),
                 frozenset(names.get("named", {}).get(path.name, ())), 1)
             for path in paths]  # fmt: skip
    sidecars = [Companion(name, (PurePosixPath(name),), kind, tuple(outputs), frozenset(options))
              for name, kind, outputs, options in names["companions"]]  # fmt: skip
    return found, sidecars


@pytest.mark.parametrize(
    ("logs", "companions", "more", "expected"),
    [
        (["a/x.log"], [("a/s.sh", "S", (), ())], {}, {"a/s.sh": ("x.log", "alone together")}),
        (["a/x.log"], [("b/s.sh", "S", (), ())], {}, {"a": None}),
        (["a/x.log", "a/y.log"], [("a/x.sh", "S", (), ())], {}, {"a/x.sh": ("x.log", "name")}),
        (["a/x.log"], [("a/s.sh", "S", (), ()), ("a/t.sh", "S", (), ())], {}, {"a": None}),
        (["a/x-18095.log", "a/y.log"], [("a/s-18095.sh", "S", (), ())],
         {"numbers": {"x-18095.log": ["18095"]}}, {"a/s-18095.sh": ("x-18095.log", "job id")}),
        (["a/x-20240216.log", "a/y.log"], [("a/s-20240216.sh", "S", (), ())],
         {"numbers": {"x-20240216.log": ["20240216"]}}, {"a": None}),
        (["a/x.log", "a/y.log"], [("a/ds.json", "D", (), ())], {"named": {"y.log": ["ds.json"]}},
         {"a/ds.json": ("y.log", "the log names it")}),
        (["a/x.log", "a/y.log"],
         [("a/s.sh", "S", ("logs/y.log",), ("ds.json",)), ("a/ds.json", "D", (), ())], {},
         {"a/s.sh": ("y.log", "it names the log"),
          "a/ds.json": ("y.log", "the job script names it")}),
        (["a/1.out", "a/2.out"], [("a/s.sh", "S", ("%j.out",), ())], {}, {"a": None}),
    ],
)  # fmt: skip
def test_what_links_a_companion(
    logs: list[str],
    companions: list[Any],
    more: dict[str, Any],
    expected: dict[str, tuple[str, str] | None],
) -> None:
    printed, sidecars = made(*logs, companions=companions, **more)
    found = links(sidecars, printed)
    linked = {one: (run.removeprefix("run of "), why) for one, run, why in found if run}
    assert linked == {name: link for name, link in expected.items() if link}
    assert {one for one, _, _ in found} == {one[0] for one in companions}, "each is reported"


def test_a_log_whose_runs_differ_is_nobodys() -> None:
    path = PurePosixPath("a/x.log")
    log_of_two = Log("x", (path,), ("1", "2"), frozenset(), frozenset(), 2)
    script = Companion("s", (PurePosixPath("a/s.sh"),), "S")
    assert links([script], [log_of_two]) == [
        ("s", None, "the runs of the log lay out their ranks differently")
    ]
