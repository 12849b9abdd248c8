"""Tasks on utterances."""
