-- title: Model FLOPs of the PaLM paper: 6 x parameters and the attention scores
-- unit: FLOP per iteration
-- source: arXiv 2204.02311 appendix B: tokens/s x (6N + 12 L H Q T) / (peak x W); llm-foundry's MFU
-- counts: model FLOPs; every parameter, the embedding too; attention in full. HFU adds recompute: x 4/3 in full
CREATE OR REPLACE MACRO f10(params, b, s, l, h) AS
    1e0 * b * s * (6e0 * params + 12e0 * l * h * s);
