-- title: Memory as printed, of whatever the source means: a device, a process, a node
-- unit: GB or MiB, as printed
-- source: printed cell
-- from: printed memory
-- selected: value AS memory, unit AS memory_unit
-- prints: number
-- leads: an explanation of its run
CREATE OR REPLACE VIEW metric_memory AS
SELECT run_id, value, low, high, unit FROM measured WHERE metric = 'memory';
