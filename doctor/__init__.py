"""Unread lines of logs grouped by shape, and formats drafted for a shape."""
