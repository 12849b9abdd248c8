"""BibTeX of the papers that define the methods, and tasks of their own."""

from __future__ import annotations

DIALOGUE_CSE = """\
@inproceedings{liu-etal-2021-dialoguecse,
    title = "{D}ialogue{CSE}: Dialogue-based Contrastive Learning of Sentence Embeddings",
    author = "Liu, Che and Wang, Rui and Liu, Jinghua and Sun, Jian and Huang, Fei and Si, Luo",
    booktitle = "Proceedings of the 2021 Conference on Empirical Methods in Natural Language Processing",
    year = "2021",
    pages = "2396--2406",
}"""
DIAL2VEC = """\
@inproceedings{liu-etal-2022-dial2vec,
    title = "{D}ial2vec: Self-Guided Contrastive Learning of Unsupervised Dialogue Embeddings",
    author = "Liu, Che and Wang, Rui and Jiang, Junfeng and Li, Yongbin and Huang, Fei",
    booktitle = "Proceedings of the 2022 Conference on Empirical Methods in Natural Language Processing",
    year = "2022",
    pages = "7272--7282",
}"""
CCL = """\
@inproceedings{erker-etal-2023-imagination,
    title = "Imagination is All You Need! Curved Contrastive Learning for Abstract Sequence Modeling Utilized on Long
        Short-Term Dialogue Planning",
    author = "Erker, Justus-Jonas and Schaffer, Stefan and Spanakis, Gerasimos",
    booktitle = "Findings of the Association for Computational Linguistics: ACL 2023",
    year = "2023",
    pages = "5152--5173",
}"""
TRIPLE_ENCODERS = """\
@inproceedings{erker-etal-2024-triple,
    title = "Triple-Encoders: Representations That Fire Together, Wire Together",
    author = "Erker, Justus-Jonas and Mai, Florian and Reimers, Nils and Spanakis, Gerasimos and Gurevych, Iryna",
    booktitle = "Proceedings of the 62nd Annual Meeting of the Association for Computational Linguistics",
    year = "2024",
    pages = "5317--5332",
}"""
STS_FROM_CONVERSATIONS = """\
@inproceedings{yang-etal-2018-learning,
    title = "Learning Semantic Textual Similarity from Conversations",
    author = "Yang, Yinfei and others",
    booktitle = "Proceedings of the Third Workshop on Representation Learning for NLP",
    year = "2018",
}"""
CONVERT = """\
@inproceedings{henderson-etal-2020-convert,
    title = "{C}onve{RT}: Efficient and Accurate Conversational Representations from Transformers",
    author = "Henderson, Matthew and others",
    booktitle = "Findings of the Association for Computational Linguistics: EMNLP 2020",
    year = "2020",
}"""
