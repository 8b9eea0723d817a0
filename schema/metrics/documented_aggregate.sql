-- title: Est. Aggr. PetaFLOPs by the documents' own definition, where its cell is blank
-- unit: 1024 TFLOP/s
-- source: A1 on the printed TFLOPs
-- from: A1(tflops=printed tflops, nodes=nodes)
-- prints: 3 digits
CREATE OR REPLACE VIEW metric_documented_aggregate AS
SELECT c.run_id, a1(t.value, c.nodes) AS value, a1(t.low, c.nodes) AS low, a1(t.high, c.nodes) AS high
FROM configurations c JOIN measured t ON t.run_id = c.run_id AND t.metric = 'tflops' AND t.basis = 'cell'
WHERE isfinite(a1(t.value, c.nodes));
