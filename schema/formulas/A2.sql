-- title: Aggregate PFLOP/s of the job
-- unit: PFLOP/s
-- source: SI prefixes: 1 PFLOP/s = 1000 TFLOP/s
-- counts: what the TFLOP/s count; n is the number of the units they are stated for
CREATE OR REPLACE MACRO a2(tflops, n) AS 1e0 * tflops * n / 1000e0;
