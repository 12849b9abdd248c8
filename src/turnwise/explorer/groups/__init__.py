"""Groups of any vectors: found, named, recognised when data has grown."""
