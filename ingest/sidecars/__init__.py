"""Sidecars of logs, files that state what ran: job scripts, configs, lists of versions."""
