"""Files to the warehouse: listed, planned against the ledger, read, stored."""
