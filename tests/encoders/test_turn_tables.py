from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from torch import nn

import turnwise
from turnwise.collators.conversations import ConversationCollator
from turnwise.encoders.conversations import encode_conversations
from turnwise.encoders.forward import encode_sliced
from turnwise.encoders.rendering import Renderer, make_conversational
from turnwise.encoders.turn_tables import TurnTables, add_turn_tables, load_turn_tables, turn_and_position, uses_turns
from turnwise.losses.dial2vec import Dial2vecLoss
from turnwise.training.freezing import frozen_lower_layers
from turnwise.training.recipes import Adaptation, Dial2vec
from turnwise.training.train import train

TURN = torch.tensor([[-1, 0, 0, 0, 1, 1, 2, -1, -1], [-1, 4, 6, 6, 7, 7, 7, 7, 9]])
SPEAKER = torch.tensor([[-1, 0, 0, 0, 1, 1, 0, -1, -1], [-1, 0, 1, 1, 2, 2, 2, 2, 0]])


def tables_of(encoder: SentenceTransformer) -> TurnTables:
    tables = encoder.transformers_model.turn_tables
    assert isinstance(tables, TurnTables)
    return tables


def randomise(encoder: SentenceTransformer) -> SentenceTransformer:
    torch.manual_seed(1)
    for parameter in tables_of(encoder).parameters():
        parameter.data.normal_()
    return encoder


def token_embeddings(encoder: SentenceTransformer, rows, **further: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        (piece,) = encode_sliced(encoder, rows.input_ids, rows.attention_mask, 10**6, further)
    return piece.tokens[piece.rows.argsort()]


@pytest.fixture
def dialogue_encoder(tiny_encoder) -> SentenceTransformer:
    return make_conversational(tiny_encoder, 64)


@pytest.fixture
def corpus() -> Dataset:
    return turnwise.sample_conversations(12, seed=1).select_columns(["id", "messages"])


def test_turns_and_positions_are_counted_within_the_row() -> None:
    number, position = turn_and_position(TURN)
    assert number[0, 1:7].tolist() == [0, 0, 0, 1, 1, 2]
    assert position[0, 1:7].tolist() == [0, 1, 2, 0, 1, 0]
    assert number[1, 1:].tolist() == [0, 1, 1, 2, 2, 2, 2, 3]
    assert position[1, 1:].tolist() == [0, 0, 1, 0, 1, 2, 3, 0]


@pytest.mark.parametrize("from_end", [False, True])
def test_tables_sum_what_the_literal_formula_sums(from_end: bool) -> None:
    torch.manual_seed(0)
    tables = TurnTables(turns=3, positions=2, roles=2, dim=5, from_end=from_end)
    assert torch.equal(tables(TURN, SPEAKER), torch.zeros(2, 9, 5))
    for parameter in tables.parameters():
        parameter.data.normal_()
    expected = torch.zeros(2, 9, 5)
    for row in range(2):
        turns = sorted(set(TURN[row].tolist()) - {-1})
        for turn in turns:
            number = len(turns) - turns.index(turn) if from_end else turns.index(turn)
            for position, token in enumerate((TURN[row] == turn).nonzero().flatten().tolist()):
                expected[row, token] += tables.turn.weight.data[min(number, 2)]
                expected[row, token] += tables.position.weight.data[min(position, 1)]
                expected[row, token] += tables.role.weight.data[min(int(SPEAKER[row, token]), 1)]
    torch.testing.assert_close(tables(TURN, SPEAKER), expected)


def test_zero_tables_and_missing_inputs_change_nothing(dialogue_encoder, conversations) -> None:
    talks = conversations["messages"]
    rows = Renderer(dialogue_encoder).rows(talks)
    plain = token_embeddings(dialogue_encoder, rows)
    embedded = encode_conversations(dialogue_encoder, talks, "interlocutor")
    assert not uses_turns(dialogue_encoder)
    assert add_turn_tables(dialogue_encoder) is dialogue_encoder
    assert uses_turns(dialogue_encoder)
    assert torch.equal(token_embeddings(dialogue_encoder, rows, turn=rows.turn, speaker=rows.speaker), plain)
    np.testing.assert_array_equal(encode_conversations(dialogue_encoder, talks, "interlocutor"), embedded)
    randomise(dialogue_encoder)
    assert torch.equal(token_embeddings(dialogue_encoder, rows), plain)


def test_tables_are_added_to_the_word_embeddings(dialogue_encoder, conversations) -> None:
    rows = Renderer(dialogue_encoder).rows(conversations["messages"])
    plain = token_embeddings(dialogue_encoder, rows)
    randomise(add_turn_tables(dialogue_encoder))
    found = token_embeddings(dialogue_encoder, rows, turn=rows.turn, speaker=rows.speaker)
    bert = dialogue_encoder.transformers_model
    with torch.no_grad():
        words = bert.get_input_embeddings()(rows.input_ids) + tables_of(dialogue_encoder)(rows.turn, rows.speaker)
        literal = bert(inputs_embeds=words, attention_mask=rows.attention_mask).last_hidden_state
    torch.testing.assert_close(found, literal * rows.attention_mask.unsqueeze(-1), rtol=1e-4, atol=1e-5)
    assert not torch.allclose(found, plain, atol=1e-2)


def test_the_order_of_turns_and_the_speakers_now_matter(dialogue_encoder) -> None:
    randomise(add_turn_tables(dialogue_encoder))
    alternating, monologue = ([{"role": role, "content": "hello"} for role in roles] for roles in ("aba", "aaa"))
    first, second = encode_conversations(dialogue_encoder, [alternating, monologue])
    assert not np.allclose(first, second, atol=1e-3)


def test_one_input_alone_is_an_error(dialogue_encoder, conversations) -> None:
    rows = Renderer(add_turn_tables(dialogue_encoder)).rows(conversations["messages"])
    with pytest.raises(ValueError, match="both 'turn' and 'speaker'"):
        token_embeddings(dialogue_encoder, rows, turn=rows.turn)


def test_tables_are_added_once_and_have_rows(dialogue_encoder) -> None:
    with pytest.raises(ValueError, match="roles must be at least 1, got 0"):
        add_turn_tables(dialogue_encoder, roles=0)
    add_turn_tables(dialogue_encoder)
    with pytest.raises(ValueError, match="already has turn tables"):
        add_turn_tables(dialogue_encoder)


def test_wrapped_models_are_recognised(dialogue_encoder) -> None:
    class Wrapper(nn.Module):
        def __init__(self, module: nn.Module) -> None:
            super().__init__()
            self.module = module

    assert not uses_turns(Wrapper(dialogue_encoder))
    assert uses_turns(Wrapper(add_turn_tables(dialogue_encoder)))
    assert not uses_turns(nn.Linear(2, 2))


def test_saved_tables_come_back_with_load_encoder_and_not_with_the_stock_loader(
    dialogue_encoder, conversations, tmp_path
) -> None:
    talks = [[{key: m[key] for key in ("role", "content")} for m in talk] for talk in conversations["messages"]]
    without = encode_conversations(dialogue_encoder, talks)
    randomise(add_turn_tables(dialogue_encoder, turns=4, positions=5, roles=2, from_end=True))
    expected = encode_conversations(dialogue_encoder, talks)
    dialogue_encoder.save_pretrained(str(tmp_path / "model"), create_model_card=False)
    loaded = turnwise.load_encoder(tmp_path / "model", device="cpu")
    assert [len(table.weight) for table in (tables_of(loaded).turn, tables_of(loaded).position)] == [4, 5]
    assert bool(tables_of(loaded).from_end)
    np.testing.assert_allclose(encode_conversations(loaded, talks), expected, atol=1e-6)
    stock = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    assert not uses_turns(stock)
    np.testing.assert_allclose(encode_conversations(stock, talks), without, atol=1e-6)
    np.testing.assert_allclose(stock.encode(talks), without, atol=1e-5)


def test_encoders_that_keep_their_weights_in_a_subfolder_still_load(tiny_encoder_path, tmp_path) -> None:
    shutil.copytree(tiny_encoder_path, tmp_path / "old")
    (tmp_path / "old" / "0_Transformer").mkdir()
    for file in [path for path in (tmp_path / "old").iterdir() if path.is_file() and path.name != "modules.json"]:
        file.rename(tmp_path / "old" / "0_Transformer" / file.name)
    modules = json.loads((tmp_path / "old" / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (tmp_path / "old" / "modules.json").write_text(json.dumps(modules))
    assert not uses_turns(turnwise.load_encoder(tmp_path / "old", device="cpu"))


def test_an_encoder_without_a_transformer_takes_no_tables(tiny_encoder) -> None:
    static = StaticEmbedding(tiny_encoder.tokenizer.backend_tokenizer, embedding_dim=8)
    with pytest.raises(ValueError, match="not made of a transformer"):
        add_turn_tables(SentenceTransformer(modules=[static], device="cpu"))


def gradients(encoder: SentenceTransformer, conversations: Dataset, frozen: int) -> dict[str, torch.Tensor | None]:
    talks = conversations.filter(lambda row: len(row["messages"]) > 2)
    features = {
        name.removeprefix("messages_"): tensor for name, tensor in ConversationCollator(encoder, talks)(talks).items()
    }
    with frozen_lower_layers(encoder, frozen):
        encoder.train()
        assert not encoder.transformers_model.encoder.layer[0].training
        Dial2vecLoss(encoder)([features]).backward()
        return {name: p.grad for name, p in encoder.transformers_model.named_parameters() if p.requires_grad}


def test_gradients_reach_the_tables_through_frozen_layers(dialogue_encoder, conversations) -> None:
    found = gradients(add_turn_tables(dialogue_encoder), conversations, frozen=2)
    assert not any(name.startswith(("embeddings.", "encoder.layer.0.", "encoder.layer.1.")) for name in found)
    for name in ("position", "turn", "role"):
        gradient = found[f"turn_tables.{name}.weight"]
        assert gradient is not None
        assert gradient.abs().sum() > 0


def test_training_moves_the_tables_and_saves_them(corpus, tiny_encoder_path, tmp_path) -> None:
    recipe = Dial2vec(max_steps=2, turn_inputs=True, negatives_per_dialogue=2, learning_rate=1e-3)
    encoder = train(recipe, corpus, tiny_encoder_path, tmp_path / "model")
    assert all(parameter.abs().sum() > 0 for parameter in tables_of(encoder).parameters())
    saved = load_file(tmp_path / "model" / "model.safetensors")
    assert torch.equal(saved["turn_tables.turn.weight"], tables_of(encoder).turn.weight)
    # Learning goes on where it was, not from zero.
    loaded = turnwise.load_encoder(tmp_path / "model", device="cpu")
    recipe.prepare(loaded)
    assert torch.equal(tables_of(loaded).turn.weight, tables_of(encoder).turn.weight)


@pytest.mark.parametrize("adaptation", [None, Adaptation(max_steps=2, batch_size=4)])
def test_a_resumed_run_gives_the_weights_of_an_uninterrupted_one(
    adaptation, corpus, tiny_encoder_path, tmp_path, monkeypatch
) -> None:
    recipe = Dial2vec(
        max_steps=4,
        gradient_accumulation_steps=1,
        checkpoint_steps=2,
        turn_inputs=True,
        negatives_per_dialogue=2,
        learning_rate=1e-3,
        adaptation=adaptation,
    )
    whole = train(recipe, corpus, tiny_encoder_path, tmp_path / "whole")
    collate, batches = ConversationCollator.__call__, []

    def fail_once(self, rows):
        batches.append(rows)
        if len(batches) == 4:
            raise RuntimeError("power cut")
        return collate(self, rows)

    monkeypatch.setattr(ConversationCollator, "__call__", fail_once)
    with pytest.raises(RuntimeError, match="power cut"):
        train(recipe, corpus, tiny_encoder_path, tmp_path / "cut")
    assert list((tmp_path / "cut.run" / "training").glob("checkpoint-*"))
    resumed = train(recipe, corpus, tiny_encoder_path, tmp_path / "cut", resume=True)
    expected, found = whole.state_dict(), resumed.state_dict()
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[key], found[key]) for key in expected)


def plato(width: int = 32) -> dict[str, torch.Tensor]:
    rows = {"token": 50, "pos": 20, "type": 2, "turn": 16}
    return {f"embedder.{name}_embedding.weight": torch.randn(count, width) for name, count in rows.items()}


def test_tables_of_a_plato_like_file(dialogue_encoder, tmp_path) -> None:
    weights = plato()
    save_file(weights, tmp_path / "plato.safetensors")
    load_turn_tables(add_turn_tables(dialogue_encoder), tmp_path / "plato.safetensors")
    tables = tables_of(dialogue_encoder)
    assert torch.equal(tables.position.weight, weights["embedder.pos_embedding.weight"])
    assert torch.equal(tables.turn.weight, weights["embedder.turn_embedding.weight"])
    assert torch.equal(tables.role.weight, weights["embedder.type_embedding.weight"])
    assert bool(tables.from_end)
    assert all(parameter.requires_grad for parameter in tables.parameters())
    talk = [{"role": "ab"[turn % 2], "content": "hello"} for turn in range(3)]
    rows = Renderer(dialogue_encoder).rows([talk])
    found = token_embeddings(dialogue_encoder, rows, turn=rows.turn, speaker=rows.speaker)
    assert found.shape == (1, rows.input_ids.shape[1], 32)


def test_names_may_be_given(dialogue_encoder, tmp_path) -> None:
    weights = {name.replace("pos_", "place_"): tensor for name, tensor in plato().items()}
    save_file(weights, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match=r"one table of positions, …pos_embedding\.weight, got embedder"):
        load_turn_tables(dialogue_encoder, tmp_path / "other.safetensors")
    name = "embedder.place_embedding.weight"
    load_turn_tables(dialogue_encoder, tmp_path / "other.safetensors", {"position": name}, from_end=False)
    assert torch.equal(tables_of(dialogue_encoder).position.weight, weights[name])
    assert not bool(tables_of(dialogue_encoder).from_end)


@pytest.mark.parametrize(
    ("file", "weights", "error", "message"),
    [
        ("plato.pt", None, ValueError, "pickled weights can run code.*save_file"),
        ("none.safetensors", None, FileNotFoundError, "expected a safetensors file"),
        ("bad.safetensors", b"not at all", ValueError, "not a safetensors file"),
        ("narrow.safetensors", plato(16), ValueError, r"of shape \(rows, 32\).*got \(20, 16\)"),
        ("two.safetensors", {**plato(), "x.turn_embedding.weight": torch.ones(2, 32)}, ValueError, "table of turns"),
    ],
)
def test_what_cannot_be_loaded_is_named(dialogue_encoder, tmp_path, file, weights, error, message) -> None:
    if isinstance(weights, dict):
        save_file(weights, tmp_path / file)
    elif weights is not None:
        (tmp_path / file).write_bytes(weights)
    with pytest.raises(error, match=message):
        load_turn_tables(dialogue_encoder, tmp_path / file)
    assert not uses_turns(dialogue_encoder)


def test_unknown_table_names_are_refused(dialogue_encoder, tmp_path) -> None:
    with pytest.raises(ValueError, match=r"unknown tables.*colour"):
        load_turn_tables(dialogue_encoder, tmp_path / "x.safetensors", {"colour": "c"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"turn_tables.turn.weight": torch.zeros(4, 7)}, r"turn_tables\.turn\.weight to be of shape \(rows, 32\)"),
        ({"turn_tables.role.weight": torch.zeros(0, 32)}, r"turn_tables\.role\.weight to be of shape \(rows, 32\)"),
        ({"turn_tables.role.weight": None}, r"expected turn tables from_end, .*, got {'from_end': \(\)"),
        ({"turn_tables.from_end": torch.zeros(2)}, r"expected turn tables from_end"),
    ],
)
def test_saved_tables_that_do_not_fit_are_one_error(dialogue_encoder, tmp_path, change, message: str) -> None:
    add_turn_tables(dialogue_encoder).save_pretrained(str(tmp_path), create_model_card=False)
    path = tmp_path / "model.safetensors"
    weights = {**load_file(path), **change}
    save_file({name: weight for name, weight in weights.items() if weight is not None}, path, {"format": "pt"})
    with pytest.raises(ValueError, match=rf"model\.safetensors: .*{message}"):
        turnwise.load_encoder(tmp_path)
