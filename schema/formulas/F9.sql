-- title: Hardware FLOPs with selective recompute of the attention core
-- unit: FLOP per iteration
-- source: arXiv 2205.05198 appendix A
-- counts: hardware FLOPs: forward, backward and the attention scores once more; attention in full; logits. Without the recompute (s / 6h) it is F7 with g = a; with full recompute F1
CREATE OR REPLACE MACRO f9(b, s, l, h, v) AS
    72e0 * b * s * l * h * h * (1 + s / (3e0 * h) + v / (12e0 * l * h));
