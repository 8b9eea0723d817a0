-- title: Memory of a device at its peak, as a log prints it; of a table whatever it means: a device, a process, a node
-- unit: GB, GiB or MiB, as printed
-- source: printed cell; of a log the largest max_allocated over ranks and steps, else max_reserved, allocated, reserved or used
-- from: printed memory
-- selected: value AS memory, unit AS memory_unit
-- prints: number
-- leads: an explanation of its run
CREATE OR REPLACE VIEW metric_memory AS
SELECT run_id, value, low, high, unit FROM measured WHERE metric = 'memory';
