"""Facts to findings: every printed number against physics; one rule is one file of rules/."""
