-- title: Equation 3 as coded in Megatron-DeepSpeed: factor 4 with activation checkpointing, 3 without
-- unit: FLOP per iteration
-- source: DeepSpeedFugaku megatron/utils.py throughput_calculator; Megatron-DeepSpeed ae6277f5
-- counts: hardware FLOPs; with factor 3 the logits count 4.5 B s h V instead of 6, as the code does
CREATE OR REPLACE MACRO f2(b, s, l, h, v, factor) AS
    24e0 * factor * b * s * l * h * h * (1 + s / (6e0 * h) + v / (16e0 * l * h));
