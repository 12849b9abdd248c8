"""Groups of similar messages: found, named, kept."""
