"""Train with sentence-transformers' own trainer: our collator, our loss, and a task that chooses the best step.

Run: python examples/stock_trainer.py
"""

from __future__ import annotations

from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments

import turnwise
from turnwise.collators import TextCollator

parts = turnwise.data.split_conversations(turnwise.sample_conversations(400))
encoder = turnwise.load_encoder()
evaluator = turnwise.evaluation.TaskEvaluator("semantic-retrieval", parts["dev"])
trainer = SentenceTransformerTrainer(
    encoder,
    SentenceTransformerTrainingArguments(
        "runs/stock", max_steps=30, learning_rate=3e-4, report_to="none", eval_strategy="steps", eval_steps=10,
        save_steps=10, load_best_model_at_end=True, metric_for_best_model=f"eval_{evaluator.primary_metric}",
    ),
    parts["train"].select_columns(["id", "messages"]),
    data_collator=TextCollator(encoder),
    loss=turnwise.papers.DialogueCSELoss(encoder),
    evaluator=evaluator,
)  # fmt: skip
trainer.train()
encoder.save_pretrained("runs/stock/model", create_model_card=False)  # the library's card would quote the conversations
