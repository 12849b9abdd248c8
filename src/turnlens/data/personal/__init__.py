"""Personal data in texts: a finder for each kind.

All finders take plain text (`plain_text`) and need time in proportion to its length, whatever it contains. To ensure
this, patterns are possessive or bounded, and in a row of numbers no more groups are examined together than the longest
possible number has.
"""
