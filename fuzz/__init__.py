"""Hostile inputs for everything that reads what others wrote.

``python -m fuzz --minutes 10`` (or ``make fuzz MINUTES=10``) tries every target with Hypothesis. What it finds it keeps
in ``fuzz/found/``, where a test tries it again.
"""
