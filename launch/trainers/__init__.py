"""What trains: a file each, with a subclass of `Trainer`; a file's name is its word in plans."""
