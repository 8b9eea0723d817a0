-- What logs print as MFU and HFU: shares of a peak of their own choice.
ALTER TABLE raw.iterations ADD COLUMN mfu DOUBLE; -- model FLOPs utilization as printed, a share
ALTER TABLE raw.iterations ADD COLUMN hfu DOUBLE; -- hardware FLOPs utilization as printed, a share
