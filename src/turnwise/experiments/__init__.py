"""The papers' experiments: suites as data, methods, and a runner that never does anything twice."""
