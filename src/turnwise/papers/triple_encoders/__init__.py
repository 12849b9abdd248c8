"""CCL (Erker et al., Findings of ACL 2023) and C3L, the triple-encoders (Erker et al., ACL 2024)."""
