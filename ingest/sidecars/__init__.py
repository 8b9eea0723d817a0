"""Files that lie beside a log and say what ran: job scripts, configurations, lists of versions."""
