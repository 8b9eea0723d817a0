"""Scales of similarity, tuned once on the documents `TUNED` of benchmarks/predict.py."""

from __future__ import annotations

from .likeness import Scales

PACE_SCALES = Scales(
    system=0.1, source=0.07, words=0.115, model=0.082, shape=0.046, smooth=0.025, close=0.1,
    local=0.025, noise=0.006, equal=0.97, own=0.6, site=0.55, wide=8.0, near=3.3,
    word=0.64,
)  # fmt: skip
MEMORY_SCALES = Scales(
    system=0.1, source=0.08, words=0.05, model=0.05, shape=0.03, smooth=0.04, close=0.0, local=0.03,
    noise=0.02, equal=0.97, own=0.5, site=0.0, wide=8.0, near=3.0, word=0.6,
)  # fmt: skip
