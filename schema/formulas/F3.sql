-- title: BigScience's first throughput formula: non-embedding parameters as the last rank sees them, times t x p
-- unit: FLOP per iteration
-- source: Megatron-DeepSpeed 8b2b055e and e53fd737, parameters_in_billions_no_embedding; replaced by pull request 251 (2022-02-21)
-- counts: 2 x factor FLOP a parameter and token: factor 4 with full recompute, 3 without; no attention scores, no logits; row-parallel biases and layer norms t times, final layer norm t x p times
CREATE OR REPLACE MACRO f3(b, s, l, h, t, p, factor) AS
    2e0 * factor * b * s * (l * (12e0 * h * h + 7e0 * h + 6e0 * h * t) + 2e0 * h * t * p);
