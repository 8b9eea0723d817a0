-- Tables of today have columns for these: how experts are split and which of their parameters a token
-- uses, and the recipe of a number format. Insert-only; NULL: not stated.
ALTER TABLE raw.topology ADD COLUMN etp INTEGER; -- tensor-parallel size of the experts
ALTER TABLE raw.runs ADD COLUMN active_b DOUBLE; -- parameters in 1e9 that a token uses, of experts
ALTER TABLE raw.runs ADD COLUMN recipe VARCHAR; -- scaling of a narrow number format, as written: MXFP8, NVFP4, FP8-CS
