"""Sidecars of a log: what each states about its run, with the line, and nothing uncertain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.ingest.sidecars.files import Sidecar, read_sidecar

SCRIPT = """#!/bin/bash
#SBATCH --job-name=gpt2-perf
#SBATCH -N 16
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:a100:4
#SBATCH --time 00:10:00 # ten minutes
##SBATCH --nodes=99
export NCCL_DEBUG=INFO
export WANDB_API_KEY=abcdef0123456789abcdef
GPUS_PER_NODE=4
NNODES=16
TP=4
PP_SIZE=${PP:-8}
WORLD_SIZE=$(($GPUS_PER_NODE*$NNODES))
if [ "$1" = small ]; then
  MBS=4
else
  MBS=2
fi
GPT_ARGS=" \\
    --num-layers 24 \\
    --micro-batch-size $MBS \\
    --global-batch-size 1024 \\
    --bf16 \\
    "
# --hidden-size 99
echo "--tensor-model-parallel-size 9"
for i in 1 2; do
  python x.py --train-iters $i
done
cat <<EOF > x.txt
--seq-length 77
EOF
LD_PRELOAD=libtcmalloc.so srun --export=ALL,OMP_NUM_THREADS=4 torchrun \\
   --nproc_per_node $GPUS_PER_NODE --tensor-model-parallel-size $TP \\
   --pipeline-model-parallel-size $PP_SIZE $GPT_ARGS \\
   --token abcdefgh12345678 2>&1 | tee logs/main_log.txt
"""


def read(path: str, text: str) -> Sidecar:
    found = read_sidecar(path, text)
    assert found is not None
    return found


def columns(found: Sidecar) -> dict[str, tuple[str, int]]:
    return {
        one.name: (one.value, one.line) for one in found.stated.every() if one.scope == "column"
    }


def values_of(found: Sidecar, scope: str) -> dict[str, str]:
    return {one.name: one.value for one in found.stated.every() if one.scope == scope}


def test_a_job_script_states_what_is_sure() -> None:
    found = read("runs/job.sh", SCRIPT)
    assert found.format == "job script"
    assert columns(found) == {
        "nodes": ("16", 3), "devices_per_node": ("4", 5), "device": ("A100", 5),
        "layers": ("24", 21), "gbs": ("1024", 23), "dtype": ("bf16", 24),
        "procs_per_node": ("4", 35), "tp": ("4", 35),
    }, "no branch, loop, default of the caller, comment, text for another file"  # fmt: skip
    env = {"NCCL_DEBUG": "INFO", "LD_PRELOAD": "libtcmalloc.so", "OMP_NUM_THREADS": "4"}
    assert values_of(found, "env") == env
    job = {"job_name": "gpt2-perf", "time_limit": "00:10:00", "output": "logs/main_log.txt"}
    assert values_of(found, "job") == job
    everything = " ".join(one.value for one in found.stated.every())
    assert "abcdef" not in everything and "[redacted]" in everything


PJM = """#!/bin/bash -x
#PJM -L "node=48x6x48:torus:strict-io"
#PJM -L "rscunit=rscunit_ft01,rscgrp=large"
#PJM -L elapse=02:00:00
#PJM -L "freq=2200"
#PJM --mpi "max-proc-per-node=4"
#PJM -x PJM_LLIO_GFSCACHE=/vol0003
mpirun -n 55296 -x UTOFU_SWAP_PROTECT=1 python pretrain_gpt.py --zero-stage 1
"""
PBS = """#!/bin/bash
#PBS -N sweep
#PBS -l select=4:ncpus=64:mpiprocs=8:ngpus=4
#PBS -l walltime=01:00:00
mpiexec -np 32 python train.py
"""


def test_directives_of_other_schedulers() -> None:
    found = read("a.sh", PJM)
    assert columns(found) == {
        "nodes": ("13824", 2), "procs_per_node": ("4", 6), "ranks": ("55296", 8),
    }  # fmt: skip
    assert values_of(found, "scheduler")["freq"] == "2200"
    assert values_of(found, "env") == {"UTOFU_SWAP_PROTECT": "1"}
    found = read("a.pbs", PBS)
    assert columns(found) == {
        "nodes": ("4", 3), "procs_per_node": ("8", 3), "devices_per_node": ("4", 3),
        "ranks": ("32", 5),
    }  # fmt: skip
    assert values_of(found, "job") == {"job_name": "sweep", "time_limit": "01:00:00"}


def test_two_values_are_none_and_are_reported() -> None:
    text = "#!/bin/sh\n#SBATCH --nodes=4\nsrun python a.py --nnodes 8 --num-layers 2\n"
    found = read("a.sh", text + "srun python b.py --num-layers 4\n")
    assert columns(found) == {}
    [(name, both)] = found.stated.doubtful()
    assert name == "nodes" and {one.value for one in both} == {"4", "8"}


def test_a_configuration_of_deepspeed() -> None:
    text = (
        '{"train_batch_size":512,\n "train_micro_batch_size_per_gpu": "auto",\n'
        '\t"bf16": {"enabled": true}, "fp16": {"enabled": false},\n'
        ' "zero_optimization": {"stage": 1, "overlap_comm": true}}'
    )
    found = read("ds_config.json", text)
    assert columns(found) == {"gbs": ("512", 1), "dtype": ("bf16", 3), "zero_stage": ("1", 4)}
    assert values_of(found, "deepspeed")["zero_optimization.overlap_comm"] == "true"
    assert read_sidecar("other.json", '{"a": 1}') is None
    assert read_sidecar("list.json", "[1, 2]") is None


def test_what_weights_and_biases_writes() -> None:
    text = "wandb_version: 1\n\nnum_layers:\n  desc: null\n  value: 24\nfp16:\n  value: true\n"
    text += "api_key:\n  value: abcdefgh12345678\n"
    text += "_wandb:\n  value:\n    python_version: 3.11.7\n"
    found = read("wandb/run-1/files/config.yaml", text)
    assert columns(found) == {"layers": ("24", 5), "dtype": ("fp16", 7)}
    assert values_of(found, "version") == {"python_version": "3.11.7"}
    assert values_of(found, "wandb")["api_key"] == "[redacted]"
    text = (
        '{"gpu": "NVIDIA A100-SXM4-80GB",\n"gpu_count": 8, "host": "n1", "python": "3.11.7",\n'
        '"args": ["--tensor-model-parallel-size", "4", "--bf16"], "git": {"commit": "0123abc"}}'
    )
    found = read("files/wandb-metadata.json", text)
    assert columns(found) == {
        "device": ("NVIDIA A100-SXM4-80GB", 1), "devices_per_node": ("8", 2),
        "tp": ("4", 3), "dtype": ("bf16", 3),
    }  # fmt: skip
    assert values_of(found, "version") == {"hosts": "n1", "python_version": "3.11.7",
                                      "commit": "0123abc"}  # fmt: skip


def test_a_configuration_of_hydra() -> None:
    text = (
        "trainer:\n  num_nodes: 4\n  precision: bf16-mixed\nmodel:\n"
        "  tensor_model_parallel_size: 2\n  encoder: {num_layers: 3}\n  num_layers: 12\n"
    )
    found = read("out/.hydra/config.yaml", text)
    assert columns(found) == {"nodes": ("4", 2), "dtype": ("bf16", 3), "tp": ("2", 5)}
    assert read_sidecar("out/config.yaml", text) is None


def test_lists_of_packages_and_of_the_environment() -> None:
    text = (
        "torch==2.3.0+cu121\nflash_attn==2.5.8\nnumpy==1.26\nmamba>=2\nnvidia-nccl-cu12==2.20.5\n"
    )
    assert values_of(read("requirements.txt", text), "version") == {
        "torch_version": "2.3.0+cu121", "flash_attn_version": "2.5.8", "nccl_version": "2.20.5",
    }  # fmt: skip
    text = "HOME=/root\nA=1\nNCCL_DEBUG=INFO\nSLURM_NNODES=4\nSLURM_JOB_ID=77\nNCCL_TOKEN=x123456\n"
    found = read("env.txt", text)
    assert columns(found) == {"nodes": ("4", 4)} and values_of(found, "job")["job_id"] == "77"
    assert values_of(found, "env") == {"NCCL_DEBUG": "INFO", "NCCL_TOKEN": "[redacted]"}
    assert read_sidecar("env.txt", "one line of prose\n") is None
    assert read_sidecar("notes.txt", text) is None


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n"
            for a, b in zip("abcdefgh", "bcdefghi", strict=True)
        ),
        "[" * 5000,
        "{" * 5000,
        '{"a":' * 2000 + "1" + "}" * 2000,
        "a: !!python/object/apply:os.system [id]\n",
        "\x00\x01",
        "- - - -\n" * 1000,
    ],
)  # fmt: skip
def test_hostile_documents_give_nothing_and_end(text: str) -> None:
    for path in ("config.yaml", "x/.hydra/config.yaml", "a.json", "files/wandb-metadata.json"):
        found = read_sidecar(path, text)
        assert found is None or len(found.stated.statements) <= 20_000


@given(st.text(max_size=400))
def test_any_text_is_read_or_left(text: str) -> None:
    for path in ("a.sh", "a.json", "a.yaml", ".hydra/config.yaml", "requirements.txt", "env.txt"):
        read_sidecar(path, text)
    read_sidecar("a.sh", f"#!/bin/bash\n#SBATCH -N 1\n{text}")
