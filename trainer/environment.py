"""The environment of a run: processor, memory, versions, allocator, clock, variables."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

LABEL = "environment: "
REDACTED = "[redacted]"
# Prefixes of variables that can change speed or numbers: only these are recorded.
FLAGS = (
    "ACCL_", "AMD_", "ATEN_", "CUBLAS", "CUDA_", "CUDNN_", "DNNL_", "FI_", "FLIB_",
    "GLIBC_TUNABLES", "GLOO_", "GOMP_", "HIP_", "HSA_", "JEMALLOC_", "KMP_", "LD_PRELOAD",
    "MALLOC_", "MIMALLOC_", "MKL_", "MPI_", "NCCL_", "NVIDIA_", "OMP_", "ONEDNN_", "OPENBLAS_",
    "PYTORCH_", "RCCL_", "ROCR_", "SHARP_", "SLURM_", "TCMALLOC_", "THP_MEM", "TORCH", "UCX_",
    "XOS_MMM_",
)  # fmt: skip
SECRET = re.compile(
    r"(?i)secret|passw|passphrase|credential|token|apikey|jwt|(?:^|_)(?:pass|pwd|auth|key)s?(?:_|$)"
)
USERINFO = re.compile(r"(?<=://)[^/@\s]+(?=@)")
SHAPE = re.compile(r"\b(?:hf_|gh[pousr]_|github_pat_|glpat-|sk-|AKIA|xox[a-z]-)[\w-]{8,}")
ALLOCATORS = ("tcmalloc", "jemalloc", "mimalloc", "hoard", "libxpmem", "mpg")
LSCPU = {
    "Architecture": "architecture",
    "CPU(s)": "cpus",
    "Model name": "model",
    "Thread(s) per core": "threads_per_core",
    "Core(s) per socket": "cores_per_socket",
    "Socket(s)": "sockets",
    "NUMA node(s)": "numa_nodes",
    "L2 cache": "l2",
    "L3 cache": "l3",
    "Hypervisor vendor": "hypervisor",
    "CPU max MHz": "max_mhz",
}


def line(versions: Mapping[str, str | None], threads: int, gpus: Iterable[str] = ()) -> str:
    """The labelled JSON line."""
    facts: dict[str, object] = {
        "versions": {
            "python": platform.python_version(),
            "kernel": platform.release(),
            "libc": " ".join(platform.libc_ver()),
            **versions,
        },
        "cpu": lscpu(output("lscpu")),
        "clock_mhz": clock(text("/proc/cpuinfo")),
        "memory_mb": memory(text("/proc/meminfo")),
        "gpus": list(gpus),
        "gpu_driver": output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
        .partition("\n")[0]
        .strip()
        or None,
        "allocator": allocator(text("/proc/self/maps")),
        "threads": threads,
        "load_average": [round(value, 2) for value in os.getloadavg()],
        "flags": flags(os.environ),
        "flags_like": FLAGS,  # all variables with these prefixes are recorded
        "command": [clean(word) for word in sys.orig_argv],
    }
    return LABEL + json.dumps(facts, ensure_ascii=False)


def flags(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that can change speed or numbers; values of names that look secret are removed."""
    return {
        name: REDACTED if SECRET.search(name) else clean(value)
        for name, value in sorted(environ.items())
        if name.startswith(FLAGS)
    }


def clean(value: str) -> str:
    """The value without passwords in URLs and well-known patterns of tokens."""
    return SHAPE.sub(REDACTED, USERINFO.sub(REDACTED, value))


def allocator(maps: str) -> str:
    """The file of the memory allocator that is actually loaded, or libc."""
    files = {Path(row.split(maxsplit=5)[5]).name for row in maps.splitlines() if "/" in row}
    loaded = sorted(name for name in files if any(known in name for known in ALLOCATORS))
    return ", ".join(loaded) or "libc"


def lscpu(text: str) -> dict[str, str]:
    """The lines of `lscpu` about capabilities of the processor."""
    rows = (row.partition(":") for row in text.splitlines())
    return {LSCPU[name.strip()]: value.strip() for name, _, value in rows if name.strip() in LSCPU}


def clock(cpuinfo: str) -> dict[str, float] | None:
    """The lowest and highest current clock of the processors."""
    found = [float(mhz) for mhz in re.findall(r"(?m)^cpu MHz\s*:\s*([\d.]+)", cpuinfo)]
    return {"min": min(found), "max": max(found)} if found else None


def memory(meminfo: str) -> dict[str, int]:
    """Total and available memory of the machine."""
    rows = dict(re.findall(r"(?m)^(MemTotal|MemAvailable|SwapTotal):\s+(\d+) kB", meminfo))
    names = {"MemTotal": "total", "MemAvailable": "available", "SwapTotal": "swap"}
    return {names[name]: int(kilobytes) // 1024 for name, kilobytes in rows.items()}


def text(path: str) -> str:
    """The content of a kernel file; '' if there is none."""
    file = Path(path)
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def output(*command: str) -> str:
    """The output of a tool; '' if it is missing, cannot be started, fails or hangs."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=10,
            env=os.environ | {"LC_ALL": "C"}, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
