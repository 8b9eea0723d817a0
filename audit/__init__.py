"""The audit: checks of printed numbers against physics; each rule is a file of rules/."""
