-- Mixture-of-experts models: formulas for dense ones do not hold for them.
ALTER TABLE raw.runs ADD COLUMN experts INTEGER; -- experts of a layer (its largest number of them); NULL: not stated
