"""Methods of our own that another of our methods beats. They are kept for the tables that they are in."""
