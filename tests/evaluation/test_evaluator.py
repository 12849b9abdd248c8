from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments

from turnlens import evaluate, sample_conversations
from turnlens.errors import ConversationError
from turnlens.evaluation import TaskEvaluator
from turnlens.papers import DialogueCSELoss
from turnlens.training.collators import TextCollator


@pytest.fixture(scope="module")
def corpus() -> Dataset:
    return sample_conversations(24, seed=1)


def train(encoder: SentenceTransformer, corpus: Dataset, evaluator: TaskEvaluator, folder: Path, steps: int):
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=4,
        learning_rate=3e-2,  # so much that the last step is not the best
        max_steps=steps,
        eval_strategy="steps",
        eval_steps=1,
        save_strategy="steps",
        save_steps=1,
        load_best_model_at_end=True,
        metric_for_best_model=f"eval_{evaluator.primary_metric}",
        greater_is_better=evaluator.greater_is_better,
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
    )
    trainer = SentenceTransformerTrainer(
        model=encoder,
        args=arguments,
        train_dataset=corpus.select_columns(["messages"]),
        data_collator=TextCollator(encoder, max_length=16),
        loss=DialogueCSELoss(encoder),
        evaluator=evaluator,
    )
    trainer.train()
    return trainer


@pytest.mark.parametrize("task", ["semantic-retrieval", pytest.param("next-message", marks=pytest.mark.slow)])
def test_the_stock_trainer_keeps_the_best_step(task: str, tiny_encoder, corpus, tmp_path) -> None:
    evaluator = TaskEvaluator(task, corpus, max_queries=20)
    trainer = train(tiny_encoder, corpus, evaluator, tmp_path, steps=6)
    figures = [log[f"eval_{evaluator.primary_metric}"] for log in trainer.state.log_history if "eval_runtime" in log]
    assert len(figures) == 6 and len(set(figures)) > 2
    best = (max if evaluator.greater_is_better else min)(figures)
    assert figures[-1] != best
    assert trainer.state.best_metric == best
    assert trainer.state.best_model_checkpoint.endswith(f"checkpoint-{figures.index(best) + 1}")
    assert evaluator(trainer.model)[evaluator.primary_metric] == best


def test_figures_are_those_of_the_task_as_flat_floats(tiny_encoder, corpus) -> None:
    for task in ("semantic-retrieval", "semantic-relatedness", "alignment-uniformity", "domain-categorization"):
        how: dict[str, Any] = {"max_queries": 15, "conversation_label": "domain", "pooling": "interlocutor", "seed": 2}
        evaluator = TaskEvaluator(task, corpus, **how)
        vectors = evaluator(tiny_encoder)
        (expected,) = evaluate(corpus, encoder=tiny_encoder, tasks=task, **how).values()
        assert all(type(value) is float for value in vectors.values())
        assert evaluator.primary_metric in vectors
        for name, value in vectors.items():
            assert value == expected[name.removeprefix(f"{evaluator.name}_")]
        assert not any(name.endswith(("_interval", "_queries", "_dialogues", "_runs")) for name in vectors)


def test_ways_of_scoring_and_the_main_one(tiny_encoder, with_views: Callable[..., SentenceTransformer], corpus) -> None:
    evaluator = TaskEvaluator("next-message", corpus, max_queries=10)
    planning = TaskEvaluator("short-term-planning", corpus, max_queries=10)
    assert evaluator.primary_metric == "next_message_average_rank"  # known before any encoder
    plain = evaluator(tiny_encoder)
    assert plain["next_message_average_rank"] == plain["next_message_bi_average_rank"]
    assert {"next_message_single_mrr", "next_message_bm25_r_at_10"} < set(plain)
    encoder = with_views(tiny_encoder, "c3l")
    triple = evaluator(encoder)
    assert triple["next_message_average_rank"] == triple["next_message_average_average_rank"]
    assert triple["next_message_average_rank"] != triple["next_message_bi_average_rank"]
    planned = planning(encoder)
    assert planned["short_term_planning_average_rank"] == planned["short_term_planning_triple_average_rank"]
    assert all(type(value) is float for value in {**plain, **triple, **planned}.values())


@pytest.mark.parametrize(
    ("task", "greater"),
    [
        ("semantic-retrieval", True),
        ("semantic-relatedness", True),
        ("additivity", True),
        ("alignment-uniformity", False),
        ("next-message", False),
        ("short-term-planning", False),
    ],
)
def test_which_way_is_better(task: str, greater: bool, corpus) -> None:
    assert TaskEvaluator(task, corpus, conversation_label="domain").greater_is_better is greater


def test_evaluation_leaves_the_encoder_unchanged(tiny_encoder, corpus) -> None:
    evaluator = TaskEvaluator("semantic-retrieval", corpus, max_queries=10)
    expected = evaluator(tiny_encoder)
    assert not any(module.training for module in tiny_encoder.modules())
    tiny_encoder.train()
    frozen = tiny_encoder[0].model.embeddings.eval()
    modes = [module.training for module in tiny_encoder.modules()]
    assert evaluator(tiny_encoder) == expected
    assert [module.training for module in tiny_encoder.modules()] == modes and not frozen.training
    assert evaluator(torch.nn.DataParallel(tiny_encoder)) == expected


def test_the_model_card_names_task_and_figures(tiny_encoder, corpus, tmp_path) -> None:
    evaluator = TaskEvaluator("conversation-retrieval", corpus, conversation_label="domain")
    vectors = evaluator(tiny_encoder, str(tmp_path / "eval"), epoch=1, steps=10)
    assert tiny_encoder.model_card_data.eval_results_dict == {evaluator: vectors}
    tiny_encoder.save_pretrained(str(tmp_path / "model"))
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "Conversation Retrieval" in card and "**map**" in card and '"conversation_label": "domain"' in card
    assert not (tmp_path / "eval").exists()


def test_bad_tasks_and_data_are_refused_at_once(corpus) -> None:
    with pytest.raises(ValueError, match="unknown task 'retrieval'"):
        TaskEvaluator("retrieval", corpus)
    with pytest.raises(ConversationError, match="dialogue-sts cannot be built from conversations"):
        TaskEvaluator("dialogue-sts", corpus)
