"""BibTeX of the papers that define the tasks."""

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
TRIPLE_ENCODERS = """\
@inproceedings{erker-etal-2024-triple,
    title = "Triple-Encoders: Representations That Fire Together, Wire Together",
    author = "Erker, Justus-Jonas and Mai, Florian and Reimers, Nils and Spanakis, Gerasimos and Gurevych, Iryna",
    booktitle = "Proceedings of the 62nd Annual Meeting of the Association for Computational Linguistics",
    year = "2024",
}"""
