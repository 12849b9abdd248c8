"""Inputs that nobody means to give: what may go wrong is one clear error, and nothing else.

``python -m fuzz --minutes 10`` (or ``make fuzz MINUTES=10``) tries every target with Hypothesis, and with Atheris where
it is installed. What it finds is made as small as it gets and kept in ``found/``, where a test tries it again.
"""
