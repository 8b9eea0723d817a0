-- title: Equation 3 as BigScience codes it for gated MLPs: coefficient 32 instead of 24
-- unit: FLOP per iteration
-- source: Megatron-DeepSpeed e23393fb (pull request 283, 2022-06-05)
-- counts: hardware FLOPs; factor 4 with full recompute, 3 without; a GLU of 4h inner size; logits 4/3 of what F2 counts
CREATE OR REPLACE MACRO f12(b, s, l, h, v, factor) AS
    32e0 * factor * b * s * l * h * h * (1 + s / (6e0 * h) + v / (16e0 * l * h));
