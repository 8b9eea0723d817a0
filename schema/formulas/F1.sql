-- title: Hardware FLOPs with full recompute, Megatron-LM paper equation 3
-- unit: FLOP per iteration
-- source: arXiv 2104.04473 eq. 3; Megatron-DeepSpeed ae6277f5
-- counts: hardware FLOPs: forward, backward and one recomputed forward; attention in full (not halved for the causal mask); logits
CREATE OR REPLACE MACRO f1(b, s, l, h, v) AS
    96e0 * b * s * l * h * h * (1 + s / (6e0 * h) + v / (16e0 * l * h));
