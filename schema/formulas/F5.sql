-- title: Model FLOPs from the size label: 6 x parameters x tokens
-- unit: FLOP per iteration
-- source: bigscience experiments/tr3m-1B3.md, one-line formula with factor 3
-- counts: model FLOPs: forward and backward; no attention scores; parameters as the label rounds them
CREATE OR REPLACE MACRO f5(params, tokens) AS 3e0 * 2 * params * tokens;
