"""dial2vec: Self-Guided Contrastive Learning of Unsupervised Dialogue Embeddings (Liu et al., EMNLP 2022)."""
