-- How many experts a token uses. Insert-only; NULL: not stated.
ALTER TABLE raw.runs ADD COLUMN moe_top_k INTEGER; -- experts that a token uses in a layer
