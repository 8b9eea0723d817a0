"""What no format reads of a log, by the shape of its lines; and a format drafted for a shape."""
