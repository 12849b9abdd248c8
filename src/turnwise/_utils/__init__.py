"""What all other packages use and no user sees."""
