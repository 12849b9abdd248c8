"""Reading files of conversations: finding them, detecting their formats, and checking every row.

What is particular to one source format stands in `turnlens.data.formats`.
"""
