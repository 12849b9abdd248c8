"""The papers' experiments: a file for each paper, and a runner that never does anything twice."""
