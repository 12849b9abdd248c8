"""Reading, cleaning, checking and identifying conversations."""
