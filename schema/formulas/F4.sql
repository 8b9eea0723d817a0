-- title: Hardware FLOPs from the size label: 8 x parameters x tokens
-- unit: FLOP per iteration
-- source: bigscience experiments/tr3m-1B3.md, one-line formula with factor 4
-- counts: hardware FLOPs with full recompute; no attention scores; parameters as the label rounds them
CREATE OR REPLACE MACRO f4(params, tokens) AS 4e0 * 2 * params * tokens;
