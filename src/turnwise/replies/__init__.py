"""What could be said next: models of replies, running conversations and candidates."""
