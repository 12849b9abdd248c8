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

import turnlens
from closeness import assert_same_vectors
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.forward import encode_sliced, padded
from turnlens.encoders.rendering import Renderer, make_conversational
from turnlens.papers.dial2vec.collator import ConversationCollator
from turnlens.papers.dial2vec.loss import Dial2vecLoss
from turnlens.papers.dial2vec.recipe import Dial2vec
from turnlens.papers.dial2vec.turn_tables import TurnTables, add_turn_tables, turn_and_position, turn_tables_of
from turnlens.training.encoder_modes import frozen_lower_layers
from turnlens.training.train import train

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
    return turnlens.sample_conversations(12, seed=1).select_columns(["id", "messages"])


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
    rows = padded(Renderer(dialogue_encoder).rows(talks))
    plain = token_embeddings(dialogue_encoder, rows)
    embedded = dialogue_encoder.encode_conversations(talks, pooling="interlocutor")
    assert not turn_tables_of(dialogue_encoder) is not None
    assert add_turn_tables(dialogue_encoder) is dialogue_encoder
    assert turn_tables_of(dialogue_encoder) is not None
    assert_same_vectors(token_embeddings(dialogue_encoder, rows, turn=rows.turn, speaker=rows.speaker), plain)
    assert_same_vectors(dialogue_encoder.encode_conversations(talks, pooling="interlocutor"), embedded)
    randomise(dialogue_encoder)
    assert_same_vectors(token_embeddings(dialogue_encoder, rows), plain)


def test_tables_are_added_to_the_word_embeddings(dialogue_encoder, conversations) -> None:
    rows = padded(Renderer(dialogue_encoder).rows(conversations["messages"]))
    plain = token_embeddings(dialogue_encoder, rows)
    randomise(add_turn_tables(dialogue_encoder))
    vectors = token_embeddings(dialogue_encoder, rows, turn=rows.turn, speaker=rows.speaker)
    bert = dialogue_encoder.transformers_model
    with torch.no_grad():
        words = bert.get_input_embeddings()(rows.input_ids) + tables_of(dialogue_encoder)(rows.turn, rows.speaker)
        literal = bert(inputs_embeds=words, attention_mask=rows.attention_mask).last_hidden_state
    assert_same_vectors(vectors, literal * rows.attention_mask.unsqueeze(-1))
    assert not torch.allclose(vectors, plain, atol=1e-2)


def test_the_order_of_turns_and_the_speakers_now_matter(dialogue_encoder) -> None:
    randomise(add_turn_tables(dialogue_encoder))
    alternating, monologue = ([{"role": role, "content": "hello"} for role in roles] for roles in ("aba", "aaa"))
    first, second = dialogue_encoder.encode_conversations([alternating, monologue])
    assert not np.allclose(first, second, atol=1e-3)


def test_one_input_alone_is_an_error(dialogue_encoder, conversations) -> None:
    rows = padded(Renderer(add_turn_tables(dialogue_encoder)).rows(conversations["messages"]))
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

    assert not turn_tables_of(Wrapper(dialogue_encoder)) is not None
    assert turn_tables_of(Wrapper(add_turn_tables(dialogue_encoder))) is not None
    assert not turn_tables_of(nn.Linear(2, 2)) is not None


def test_saved_tables_come_back_with_load_encoder_and_not_with_the_stock_loader(
    dialogue_encoder, conversations, tmp_path
) -> None:
    talks = [[{key: m[key] for key in ("role", "content")} for m in talk] for talk in conversations["messages"]]
    without = dialogue_encoder.encode_conversations(talks)
    randomise(add_turn_tables(dialogue_encoder, turns=4, positions=5, roles=2, from_end=True))
    expected = dialogue_encoder.encode_conversations(talks)
    dialogue_encoder.save_pretrained(str(tmp_path / "model"), create_model_card=False)
    loaded = turnlens.load_encoder(tmp_path / "model", device="cpu")
    assert [len(table.weight) for table in (tables_of(loaded).turn, tables_of(loaded).position)] == [4, 5]
    assert bool(tables_of(loaded).from_end)
    assert_same_vectors(loaded.encode_conversations(talks), expected)
    stock = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    assert turn_tables_of(stock) is None
    assert_same_vectors(ConversationEncoder.of(stock).encode_conversations(talks), without)
    assert_same_vectors(stock.encode(talks), without)


def test_encoders_that_keep_their_weights_in_a_subfolder_still_load(tiny_encoder_path, tmp_path) -> None:
    shutil.copytree(tiny_encoder_path, tmp_path / "old")
    (tmp_path / "old" / "0_Transformer").mkdir()
    for file in [path for path in (tmp_path / "old").iterdir() if path.is_file() and path.name != "modules.json"]:
        file.rename(tmp_path / "old" / "0_Transformer" / file.name)
    modules = json.loads((tmp_path / "old" / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (tmp_path / "old" / "modules.json").write_text(json.dumps(modules))
    assert not turn_tables_of(turnlens.load_encoder(tmp_path / "old", device="cpu")) is not None


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
    vectors = gradients(add_turn_tables(dialogue_encoder), conversations, frozen=2)
    assert not any(name.startswith(("embeddings.", "encoder.layer.0.", "encoder.layer.1.")) for name in vectors)
    for name in ("position", "turn", "role"):
        gradient = vectors[f"turn_tables.{name}.weight"]
        assert gradient is not None
        assert gradient.abs().sum() > 0


def test_training_moves_the_tables_and_saves_them(corpus, tiny_encoder_path, tmp_path) -> None:
    recipe = Dial2vec(max_steps=2, turn_inputs=True, negatives_per_dialogue=2, learning_rate=1e-3)
    encoder = train(corpus, method=recipe, encoder=tiny_encoder_path, output=tmp_path / "model")
    assert all(parameter.abs().sum() > 0 for parameter in tables_of(encoder).parameters())
    saved = load_file(tmp_path / "model" / "model.safetensors")
    assert torch.equal(saved["turn_tables.turn.weight"], tables_of(encoder).turn.weight)
    # Learning goes on where it was, not from zero.
    loaded = turnlens.load_encoder(tmp_path / "model", device="cpu")
    recipe.prepare(loaded)
    assert torch.equal(tables_of(loaded).turn.weight, tables_of(encoder).turn.weight)


@pytest.mark.parametrize("first", [0, 2])
def test_relative_positions_are_those_within_the_turn(dialogue_encoder, conversations, first) -> None:
    talks = conversations["messages"]
    bert = dialogue_encoder.transformers_model
    if first:  # as RoBERTa counts
        bert.embeddings.position_embeddings.padding_idx = first - 1
    rows = padded(Renderer(dialogue_encoder, 40).rows(talks))
    plain = token_embeddings(dialogue_encoder, rows)
    add_turn_tables(dialogue_encoder, positions=None)
    assert tables_of(dialogue_encoder).position is None
    vectors = token_embeddings(dialogue_encoder, rows, turn=rows.turn, speaker=rows.speaker)
    positions = [[0] * rows.turn.shape[1] for _ in talks]
    for row, turns in enumerate(rows.turn.tolist()):
        for place, turn in enumerate(turns):
            if turn >= 0:
                positions[row][place] = place - turns.index(turn)
    with torch.no_grad():
        ids, mask = rows.input_ids, rows.attention_mask
        literal = bert(ids, attention_mask=mask, position_ids=torch.tensor(positions) + first).last_hidden_state
    assert_same_vectors(vectors, literal * mask.unsqueeze(-1))
    assert not torch.allclose(vectors, plain, atol=1e-2)


def test_relative_positions_are_saved(dialogue_encoder, conversations, tmp_path) -> None:
    randomise(add_turn_tables(dialogue_encoder, positions=None))
    expected = dialogue_encoder.encode_conversations(conversations["messages"])
    dialogue_encoder.save_pretrained(str(tmp_path / "model"), create_model_card=False)
    loaded = turnlens.load_encoder(tmp_path / "model", device="cpu")
    assert tables_of(loaded).position is None
    assert_same_vectors(loaded.encode_conversations(conversations["messages"]), expected)


def test_relative_positions_need_a_table_of_positions(dialogue_encoder) -> None:
    del dialogue_encoder.transformers_model.embeddings.position_embeddings
    with pytest.raises(ValueError, match="no table of positions"):
        add_turn_tables(dialogue_encoder, positions=None)
    with pytest.raises(ValueError, match="needs turn_inputs=true"):
        Dial2vec(relative_positions=True)


def test_tables_that_have_learned_are_frozen_with_the_embeddings(dialogue_encoder, conversations) -> None:
    vectors = gradients(randomise(add_turn_tables(dialogue_encoder)), conversations, frozen=2)
    assert vectors
    assert not any("turn_tables" in name for name in vectors)
    assert all(parameter.requires_grad for parameter in dialogue_encoder.parameters())


@pytest.mark.slow
def test_zero_tables_have_a_learning_rate_of_their_own(corpus, tiny_encoder_path) -> None:
    moved = {}
    for rate in (1e-4, 1e-2):
        recipe = Dial2vec(
            max_steps=2, turn_inputs=True, table_learning_rate=rate, negatives_per_dialogue=2, interpolation=1.0
        )
        moved[rate] = tables_of(train(corpus, method=recipe, encoder=tiny_encoder_path)).turn.weight.abs().max()
    assert moved[1e-2] > 50 * moved[1e-4] > 0


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
    (tmp_path / "checksums.json").unlink()
    path = tmp_path / "model.safetensors"
    weights = {**load_file(path), **change}
    save_file({name: weight for name, weight in weights.items() if weight is not None}, path, {"format": "pt"})
    with pytest.raises(ValueError, match=rf"model\.safetensors: .*{message}"):
        turnlens.load_encoder(tmp_path)
