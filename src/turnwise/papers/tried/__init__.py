"""Methods of our own that were tried and that another of our methods beats, kept for the tables they are in."""
