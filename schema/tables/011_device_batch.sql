-- Batches that are stated for one device, as TPU trainers do: all devices of the job share them alike, whatever the split.
ALTER TABLE raw.topology ADD COLUMN device_batch DOUBLE; -- sequences of a step for one device; below 1 where several share one
