"""The files of published corpora, on which papers report."""
