"""Trainings that a user would write with sentence-transformers or transformers alone, with the settings of their pages.

Each takes the folder of an encoder, conversations, a seed and a number of steps, and returns a SentenceTransformer. One
pass over the distinct messages, or as many steps of it; learning rates fall to 0 over these, but for TSDAE's, which is
constant in its example. Words are split at spaces for TSDAE's noise, since NLTK's tokenizer needs a download.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.losses import DenoisingAutoEncoderLoss, MultipleNegativesRankingLoss
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainingArguments,
    set_seed,
)

import turnlens
from turnlens.encoders.folders import packaged_folder

Train = Callable[[Path, Any, int, int | None], SentenceTransformer]


def tsdae(start: Path, conversations: Any, seed: int, steps: int | None) -> SentenceTransformer:
    """Restore each message from the vector of two fifths of its words (Wang et al., 2021)."""
    model = SentenceTransformer(str(start), device="cpu")
    dice = random.Random(seed)

    def damaged(batch: dict[str, list[str]]) -> dict[str, list[str]]:
        words = [text.split() for text in batch["text"]]
        kept = [[word for word in each if dice.random() < 0.4] or [dice.choice(each)] for each in words]
        return {"noisy": [" ".join(each) for each in kept], "text": batch["text"]}

    rows = Dataset.from_dict({"text": distinct(conversations)})
    rows.set_transform(damaged, columns=["text"], output_all_columns=True)
    loss = DenoisingAutoEncoderLoss(model, tie_encoder_decoder=True)
    settings = {"batch_size": 8, "learning_rate": 3e-5, "weight_decay": 0.0, "lr_scheduler_type": "constant"}
    return trained(model, rows, loss, seed, steps, **settings)


def simcse(start: Path, conversations: Any, seed: int, steps: int | None) -> SentenceTransformer:
    """A message is its own positive under another dropout mask (Gao et al., 2021)."""
    model = SentenceTransformer(str(start), device="cpu")
    length, model.max_seq_length = model.max_seq_length, 32
    texts = distinct(conversations)
    rows = Dataset.from_dict({"anchor": texts, "positive": texts})
    loss = MultipleNegativesRankingLoss(model)
    trained(model, rows, loss, seed, steps, batch_size=32, learning_rate=5e-5, warmup_steps=0.1)
    model.max_seq_length = length
    return model


def dse(start: Path, conversations: Any, seed: int, steps: int | None) -> SentenceTransformer:
    """The next message is the positive of a message (Zhou et al., 2022, without weights of negatives)."""
    model = SentenceTransformer(str(start), device="cpu")
    texts = [[message["content"] for message in row["messages"]] for row in conversations]
    pairs = [pair for said in texts for pair in pairwise(said)]
    rows = Dataset.from_dict({"anchor": [one for one, _ in pairs], "positive": [other for _, other in pairs]})
    loss = MultipleNegativesRankingLoss(model)
    settings = {"batch_size": 32, "learning_rate": 5e-5, "warmup_steps": 0.1, "batch_sampler": "no_duplicates"}
    return trained(model, rows, loss, seed, steps, **settings)


def masked_words(start: Path, conversations: Any, seed: int, steps: int | None) -> SentenceTransformer:
    """Masked-language modelling with a new head, as the encoder has none; then its own mean of tokens."""
    tokenizer = AutoTokenizer.from_pretrained(start)
    set_seed(seed)
    model = AutoModelForMaskedLM.from_pretrained(start)
    rows = Dataset.from_dict({"text": distinct(conversations)})
    tokens = rows.map(lambda row: tokenizer(row["text"], truncation=True, max_length=100), remove_columns=["text"])
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(**plan(folder, seed, steps, batch_size=32, learning_rate=5e-5))
        collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)
        Trainer(model, arguments, collator, tokens).train()
    adapted = SentenceTransformer(str(start), device="cpu")
    missing, unknown = adapted[0].model.load_state_dict(model.base_model.state_dict(), strict=False)
    assert not unknown and all("pooler" in name for name in missing), "the pooler alone, which is not used, may stay"
    return adapted


RIVALS: Mapping[str, Train] = {"tsdae": tsdae, "simcse": simcse, "dse": dse, "masked-words": masked_words}


def bertopic(conversations: Any, seed: int) -> list[int]:
    """BERTopic as its page begins, on joined texts; with a seed for UMAP, since it has none by default."""
    from bertopic import BERTopic
    from umap import UMAP

    reduced = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", low_memory=False, random_state=seed)
    model = BERTopic(umap_model=reduced, embedding_model=SentenceTransformer(str(packaged_folder()), device="cpu"))
    texts = ["\n".join(message["content"] for message in row["messages"]) for row in conversations]
    return list(model.fit_transform(texts)[0])


def cluster(conversations: Any, seed: int) -> list[int]:
    """`turnlens cluster --level conversation`."""
    plain = [{"id": str(place), "messages": row["messages"]} for place, row in enumerate(conversations)]
    table = turnlens.cluster(plain, level="conversation", seed=seed).to_pandas()
    found = dict(zip(table["id"], table["group"]))
    names = {name: number for number, name in enumerate(sorted({str(one) for one in found.values() if one}))}
    return [names.get(str(found[row["id"]]), -1) for row in plain]


GROUPERS: Mapping[str, Callable[[Any, int], list[int]]] = {"bertopic": bertopic, "cluster": cluster}


def distinct(conversations: Any) -> list[str]:
    return list(dict.fromkeys(one["content"] for row in conversations for one in row["messages"] if one["content"]))


def plan(folder: str, seed: int, steps: int | None, batch_size: int, **settings: Any) -> dict[str, Any]:
    """The settings of a trainer; only where they are named, they are not its defaults."""
    fixed = {"output_dir": folder, "seed": seed, "use_cpu": True, "save_strategy": "no", "report_to": "none"}
    sizes = {"per_device_train_batch_size": batch_size, "num_train_epochs": 1, "max_steps": steps or -1}
    return {**fixed, **sizes, "disable_tqdm": True, "dataloader_pin_memory": False, **settings}


def trained(
    model: SentenceTransformer, rows: Dataset, loss: Any, seed: int, steps: int | None, **settings: Any
) -> SentenceTransformer:
    set_seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(**plan(folder, seed, steps, **settings))
        SentenceTransformerTrainer(model, arguments, rows, loss=loss).train()
    return model.eval()
