"""Variables in launchers' lines, as the launchers' own manuals write them."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.ingest.logs.dialect import dialects
from bench.ingest.logs.environment import of_command
from bench.ingest.logs.lines import read_lines
from bench.ingest.logs.log import LogReader
from tests.making import log

HEAD = "using world size: 64, data-parallel-size: 1, tensor-model-parallel size: 4, "
HEAD += "pipeline-model-parallel size: 16 \n"


def flags(line: str) -> dict[str, str]:
    """The flags that a line of a log gives."""
    reader = LogReader("s", dialects(None))
    for one in read_lines(io.BytesIO(f"{HEAD}{line}\n{log(3)}".encode())):
        reader.feed(one)
    rows = reader.finish().rows.by_table.get("env_flags", [])
    return {str(row["name"]): str(row["value"]) for row in rows}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("+ export NCCL_IB_HCA=mlx5_0,mlx5_1", {"NCCL_IB_HCA": "mlx5_0,mlx5_1"}),
        ("++ export CUDA_LAUNCH_BLOCKING=1", {"CUDA_LAUNCH_BLOCKING": "1"}),
        # bash traces variables and command on lines of their own, dash on one.
        ("+ NCCL_DEBUG=INFO mpirun -x NCCL_ALGO=Ring -np 4 python train.py",
         {"NCCL_DEBUG": "INFO", "NCCL_ALGO": "Ring"}),
        ("export OMP_NUM_THREADS=48; export OMP_PROC_BIND=close",
         {"OMP_NUM_THREADS": "48", "OMP_PROC_BIND": "close"}),
        ("export NCCL_DEBUG=INFO NCCL_ALGO=Ring", {"NCCL_DEBUG": "INFO", "NCCL_ALGO": "Ring"}),
        ('declare -x NCCL_DEBUG="INFO"', {"NCCL_DEBUG": "INFO"}),
        ("setenv NCCL_DEBUG INFO", {"NCCL_DEBUG": "INFO"}),
        ("NCCL_ALGO=Ring NCCL_PROTO=Simple torchrun --nproc_per_node 8 train.py",
         {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}),
        ("+ env NCCL_DEBUG=WARN python train.py", {"NCCL_DEBUG": "WARN"}),
        ("+ mpirun -x NCCL_DEBUG=INFO -x PATH -np 4 python train.py", {"NCCL_DEBUG": "INFO"}),
        ("+ mpirun --mca btl ^openib -x UCX_TLS=tcp -np 4 python train.py",
         {"OMPI_MCA_btl": "^openib", "UCX_TLS": "tcp"}),
        ("+ mpirun -np 4 env NCCL_DEBUG=WARN OMP_NUM_THREADS=2 python train.py",
         {"NCCL_DEBUG": "WARN", "OMP_NUM_THREADS": "2"}),
        ("+ mpiexec -genv I_MPI_FABRICS shm:ofi -genv OMP_NUM_THREADS=8 -n 4 python train.py",
         {"I_MPI_FABRICS": "shm:ofi", "OMP_NUM_THREADS": "8"}),
        ("+ mpiexec -env OMP_NUM_THREADS 8 -n 4 python train.py", {"OMP_NUM_THREADS": "8"}),
        ("+ srun --export=ALL,NCCL_DEBUG=INFO,OMP_NUM_THREADS=4 python train.py",
         {"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "4"}),
        ("srun --export ALL,NCCL_ALGO=Tree -n 8 python train.py", {"NCCL_ALGO": "Tree"}),
        ("+ docker run --env=NCCL_DEBUG=INFO -e OMP_NUM_THREADS=8 img python train.py",
         {"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "8"}),
        ("+ jsrun -E NCCL_DEBUG=INFO -n 4 python train.py", {"NCCL_DEBUG": "INFO"}),
        ("+ aprun -e OMP_NUM_THREADS=8 -n 4 python train.py", {"OMP_NUM_THREADS": "8"}),
        ("+ flux run -N 2 --env=NCCL_DEBUG=INFO python train.py", {"NCCL_DEBUG": "INFO"}),
        ("[2022-10-29 00:41:18,570] [INFO] [runner.py:453:main] cmd = pdsh -S -w h1,h2 export "
         "NCCL_DEBUG=INFO; export PYTHONPATH=/a; python -u t.py", {"NCCL_DEBUG": "INFO"}),
        ("[2023-07-25 21:03:17,269] [INFO] [launch.py:129:main] 0 NCCL_SOCKET_IFNAME=eth0",
         {"NCCL_SOCKET_IFNAME": "eth0"}),
        ("h:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.", {"NCCL_IB_DISABLE": "1"}),
        ("+ srun --container-image=nvcr.io#nvidia/pytorch:24.03-py3 python pretrain_gpt.py --fp16",
         {"container_image": "nvcr.io#nvidia/pytorch:24.03-py3"}),
        ("+ docker run --gpus all --rm nvcr.io/nvidia/pytorch:22.02-py3 python train.py",
         {"container_image": "nvcr.io/nvidia/pytorch:22.02-py3"}),
        ("+ singularity exec --nv /scratch/images/megatron.sif python pretrain_gpt.py",
         {"container_image": "/scratch/images/megatron.sif"}),
        ("+ srun --export=ALL,NCCL_DEBUG=INFO,HF_TOKEN=hf_abcdefghijklmnopqrst python train.py",
         {"NCCL_DEBUG": "INFO"}),
        ("+ export 'LAUNCHER=python -u -m torch.distributed.run'", {}),
    ],
)  # fmt: skip
def test_what_a_line_sets(line: str, expected: dict[str, str]) -> None:
    assert flags(line) == expected


@given(st.text("mpirun -x=ABC,_;'\"export env docker run/.:sif\\ \t", max_size=300))
def test_any_command_line_is_read(text: str) -> None:
    assert all(name and kind in ("env", "launcher") for name, _, kind in of_command(text))


@pytest.mark.parametrize("piece", ["A=1 ", " -x", "--export=A=1,", " docker run", "singularity ",
                                   "export A=", "'", " env A=1", "setenv A "])  # fmt: skip
def test_hostile_command_lines_end(piece: str) -> None:
    assert len(list(of_command(piece * (200_000 // len(piece))))) < 200_000
