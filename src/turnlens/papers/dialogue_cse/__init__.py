"""DialogueCSE: Dialogue-based Contrastive Learning of Sentence Embeddings (Liu et al., EMNLP 2021)."""
