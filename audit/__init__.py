"""Facts -> findings: every printed number against physics; one rule is one small file of rules/."""
