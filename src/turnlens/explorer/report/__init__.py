"""The report: what the explorer shows, and the folder of data files that its page reads."""
