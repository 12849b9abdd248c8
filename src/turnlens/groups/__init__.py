"""Groups of vectors: fitted to a sample, named, recognised as data grows, and laid out on a map."""
