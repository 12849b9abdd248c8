"""Metrics and their uncertainty: pure numpy functions, no task knows more than it hands over here."""
