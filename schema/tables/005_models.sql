-- What formulas need to know of a model beside its shape.
ALTER TABLE raw.runs ADD COLUMN experts INTEGER; -- experts of a layer (its largest number of them); NULL: not stated
ALTER TABLE raw.runs ADD COLUMN vocab_label VARCHAR; -- vocabulary as rounded by the source: 250k
