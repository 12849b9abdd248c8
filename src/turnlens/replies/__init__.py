"""Next messages: models of replies, running conversations and candidates."""
