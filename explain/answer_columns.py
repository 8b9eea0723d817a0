"""The number columns of each answer in addition to those of its runs, and their units."""

from __future__ import annotations

from collections.abc import Mapping

from ..decide.cost import NUMBERS as COSTS
from ..decide.jobs import MEASURED
from ..decide.scaling import FITTED

OWN: Mapping[str, tuple[str, ...]] = {
    "bench best": (
        "rank", "ties_with", "days", "device_hours", "tokens_per_s_normalised", "rank_normalised",
        *COSTS,
    ),
    "bench days": (
        "days", "days_low", "days_high", "budget_tokens", "goodput", "device_hours",
        "ramp_up_steps", "ramp_up_days", *COSTS,
    ),
    "bench compare": (
        "speedup", "change_percent", "p_value", "q_value", "could_see_percent", "cv_percent",
        "cv_base_percent", "step_time_s_base", "tokens_per_s_base", "memory_gb_base",
    ),
    "bench report scaling": (
        "efficiency", "efficiency_fit", "bubble", "efficiency_without_bubble", *FITTED,
    ),
}  # fmt: skip
COMMANDS = tuple(OWN)  # fastest to compute first
NAMES = frozenset(name for names in (MEASURED, *OWN.values()) for name in names)
UNITS = {
    "step_time_s": "s", "tokens_per_s": "tokens/s", "tflops": "TFLOP/s", "memory_gb": "GB",
    "model_tflops": "TFLOP/s of a process", "tokens_per_s_per_device": "tokens/s of a device",
    "pace": "s a token",
}  # fmt: skip
