"""Personal data in texts: a file for each kind.

All finders take plain text (`plain_text`) and need time in proportion to it, whatever it holds: patterns are possessive
or bounded, and of a row of numbers only as many are looked at together as the longest number wanted can have.
"""
