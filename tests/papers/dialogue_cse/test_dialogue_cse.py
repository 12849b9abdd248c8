import math

import pytest
import torch
from torch import Tensor

from closeness import assert_same_vectors
from turnlens.encoders.forward import TokenSlice, encode_sliced
from turnlens.papers.dialogue_cse.loss import (
    DialogueCSELoss,
    DialogueCSESettings,
    context_aware_embeddings,
    context_turns_of,
)
from turnlens.training.collators import TextCollator
from turnlens.training.encoder_modes import frozen_lower_layers

Tokens = list[Tensor]  # one (n_i, d) matrix per turn


def literal_refined(utterance: Tensor, response: Tensor) -> Tensor:
    """Eq. 3 and 4, as printed."""
    matching = utterance @ response.T / math.sqrt(response.shape[1])
    return matching @ response


def literal_similarity(context: Tokens, response: Tensor, scorer, padded: bool) -> Tensor:
    """Eq. 3–7; ``padded``: matrices of one length are added up, else each turn is pooled on its own."""
    matrices = [literal_refined(turn, response) for turn in context]
    weights = torch.full((len(context),), 1 / len(context), dtype=torch.float64)
    if scorer is not None:
        weights = torch.stack([scorer(matrix.mean(0))[0] for matrix in matrices]).softmax(0)
    if padded:
        longest = torch.nn.utils.rnn.pad_sequence(matrices)  # (n, turns, d)
        aware = torch.einsum("t,ntd->nd", weights, longest).mean(0)
    else:
        aware = sum(weight * matrix.mean(0) for weight, matrix in zip(weights, matrices))
    return torch.cosine_similarity(aware, response.mean(0), dim=0)


def literal_loss(
    tokens: Tokens, conversation: list[int], texts: list[str], turns: int, scorer=None, tau=0.1, padded=False
) -> Tensor:
    """Eq. 3–8, pair by pair."""
    losses = []
    for i in range(len(tokens)):
        context = [j for j in range(i - turns, i + turns + 1) if 0 <= j < len(tokens) and j != i]
        context = [j for j in context if conversation[j] == conversation[i]]
        if not context:
            continue
        logits = []
        for r in range(len(tokens)):
            if r != i and (conversation[r] == conversation[i] or texts[r] == texts[i]):
                continue
            similarity = literal_similarity([tokens[j] for j in context], tokens[r], scorer, padded) / tau
            logits.append(similarity)
            if r == i:
                positive = similarity
        losses.append(torch.stack(logits).logsumexp(0) - positive)
    return torch.stack(losses).mean()


def ragged_batch(seed: int = 0, dim: int = 16) -> tuple[Tokens, list[int], list[str]]:
    generator = torch.Generator().manual_seed(seed)
    conversation = [0, 0, 0, 1, 2, 2, 2, 2, 2]
    texts = ["a", "b", "c", "d", "e", "b", "f", "g", "h"]
    lengths = [3, 5, 1, 4, 2, 5, 7, 3, 4]
    tokens = [torch.randn(n, dim, generator=generator, dtype=torch.float64) for n in lengths]
    tokens[5] = tokens[1]  # the same text
    return tokens, conversation, texts


def as_slices(tokens: Tokens, texts: list[str]) -> tuple[list[TokenSlice], Tensor]:
    """The distinct texts in two padded slices, out of order."""
    distinct = list(dict.fromkeys(texts))
    rows = [tokens[texts.index(text)] for text in distinct]
    slices = []
    for numbers in ([5, 0, 2], [1, 3, 4, 6, 7]):
        padded = torch.nn.utils.rnn.pad_sequence([rows[n] for n in numbers], batch_first=True)
        mask = torch.nn.utils.rnn.pad_sequence([torch.ones(len(rows[n])) for n in numbers], batch_first=True)
        slices.append(TokenSlice(torch.tensor(numbers), padded, mask))
    return slices, torch.tensor([distinct.index(text) for text in texts])


def loss_of(loss: DialogueCSELoss, tokens: Tokens, conversation: list[int], texts: list[str]) -> Tensor:
    slices, turn_text = as_slices(tokens, texts)
    keys = torch.tensor([ord(text) for text in texts])
    return loss.compute_loss_from_embeddings(slices, turn_text, torch.tensor(conversation), keys)


def test_context_aware_embeddings_equal_the_matching_matrices_for_ragged_masks() -> None:
    torch.manual_seed(0)
    responses = torch.randn(4, 6, 8, dtype=torch.float64)
    mask = torch.tensor([[1] * n + [0] * (6 - n) for n in (6, 1, 3, 5)])
    contexts = [[torch.randn(n, 8, dtype=torch.float64) for n in lengths] for lengths in ((2, 4), (3,), (1, 5, 2))]
    means = torch.stack([torch.stack([turn.mean(0) for turn in context]).mean(0) for context in contexts])
    vectors = context_aware_embeddings(responses, mask, means)
    assert vectors.shape == (3, 4, 8)
    for c, context in enumerate(contexts):
        for r in range(4):
            response = responses[r, : mask[r].sum()]
            literal = torch.stack([literal_refined(turn, response).mean(0) for turn in context]).mean(0)
            torch.testing.assert_close(vectors[c, r], literal, rtol=1e-12, atol=1e-12)


def test_context_aware_embeddings_say_which_shapes_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"expected shapes \(R, n, d\), \(R, n\) and \(C, d\).*\(2, 3, 4\)"):
        context_aware_embeddings(torch.zeros(2, 3, 4), torch.ones(2, 3), torch.zeros(5, 6))


def test_context_is_bidirectional_and_shorter_at_the_edges() -> None:
    found = context_turns_of(torch.tensor([0, 0, 0, 0, 1, 2, 2, -1]), 2)
    sets = [sorted(turn for turn in row if turn >= 0) for row in found.tolist()]
    assert sets == [[1, 2], [0, 2, 3], [0, 1, 3], [1, 2], [], [6], [5], []]


@pytest.mark.parametrize("turns", [1, 3])
@pytest.mark.parametrize("aggregation", ["mean", "attention"])
@pytest.mark.parametrize("weights", ["equal", "tokens"])
def test_equals_the_literal_formula(tiny_encoder, turns: int, aggregation, weights) -> None:
    tokens, conversation, texts = ragged_batch(dim=32)
    settings = DialogueCSESettings(context_turns=turns, aggregation=aggregation, turn_weights=weights)
    loss = DialogueCSELoss(tiny_encoder, settings).double()
    # A larger first layer, so that the attention is far from uniform and an error in it would show.
    if loss.turn_scorer is not None:
        torch.nn.init.normal_(loss.turn_scorer[0].weight)
    literal = literal_loss(tokens, conversation, texts, turns, loss.turn_scorer, padded=weights == "tokens")
    torch.testing.assert_close(loss_of(loss, tokens, conversation, texts), literal, rtol=1e-6, atol=1e-6)
    other = literal_loss(tokens, conversation, texts, turns, loss.turn_scorer, padded=weights == "equal")
    assert abs(literal - other) > 1e-3


def test_equals_hand_arithmetic(tiny_encoder) -> None:
    # One token a turn along an axis: R̂ = U·R R / √d is parallel to R, with the sign of U·R. Hence cosine 1 for the
    # positive, -1 for the negative that points against the context, and 0 for one at a right angle to it.
    axis = torch.eye(4, dtype=torch.float64)[:, None]
    tokens = [axis[0], axis[0], -axis[0], axis[1]]
    loss = DialogueCSELoss(tiny_encoder, DialogueCSESettings(context_turns=1, temperature=1.0))
    slices = [TokenSlice(torch.arange(4), torch.stack(tokens), torch.ones(4, 1))]
    vectors = loss.compute_loss_from_embeddings(
        slices, torch.arange(4), torch.tensor([0, 0, 1, 2]), torch.tensor([1, 2, 3, 4])
    )
    expected = math.log(math.e + math.exp(-1) + math.exp(0)) - 1
    # Rows: both turns of conversation 0. The other conversations have one turn each, so they only give negatives.
    assert vectors.item() == pytest.approx(expected)


def test_number_of_negatives_is_drawn_from_the_allowed(tiny_encoder) -> None:
    tokens, conversation, texts = ragged_batch(dim=32)
    every = loss_of(DialogueCSELoss(tiny_encoder), tokens, conversation, texts)
    assert loss_of(DialogueCSELoss(tiny_encoder, DialogueCSESettings(negatives=3)), tokens, conversation, texts) < every
    torch.manual_seed(3)
    one = loss_of(DialogueCSELoss(tiny_encoder, DialogueCSESettings(negatives=1)), tokens, conversation, texts)
    torch.manual_seed(3)
    again = loss_of(DialogueCSELoss(tiny_encoder, DialogueCSESettings(negatives=1)), tokens, conversation, texts)
    assert one == again
    assert 0 < one < every


def test_a_response_that_fits_its_context_better_has_a_lower_loss(tiny_encoder) -> None:
    tokens, conversation, texts = ragged_batch(dim=32)
    loss = DialogueCSELoss(tiny_encoder, DialogueCSESettings(context_turns=1))
    close = [*tokens]
    close[4] = tokens[5] + 0.1 * tokens[5].roll(1, 0)
    assert loss_of(loss, close, conversation, texts) < loss_of(loss, tokens, conversation, texts)


def test_a_batch_of_one_conversation_has_no_negatives_and_no_loss(tiny_encoder) -> None:
    tokens, _, texts = ragged_batch(dim=32)
    assert loss_of(DialogueCSELoss(tiny_encoder), tokens, [0] * 9, texts).item() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("negatives", [None, torch.full((9, 2), 3)])
def test_a_subclass_may_contrast_otherwise(tiny_encoder, negatives) -> None:
    class OwnProbability(DialogueCSELoss):
        def contrast(self, logits: Tensor, positive: Tensor) -> Tensor:
            return -logits.softmax(1).gather(1, positive[:, None]).squeeze(1)

    tokens, conversation, texts = ragged_batch(dim=32)
    slices, turn_text = as_slices(tokens, texts)
    batch = slices, turn_text, torch.tensor(conversation), torch.tensor([ord(text) for text in texts]), negatives
    one = DialogueCSESettings(context_turns=1)
    assert -1 < OwnProbability(tiny_encoder, one).compute_loss_from_embeddings(*batch) < 0
    assert DialogueCSELoss(tiny_encoder, one).compute_loss_from_embeddings(*batch) > 0


@pytest.mark.parametrize("aggregation", ["mean", "attention"])
def test_training_steps_move_the_encoder_and_lower_the_loss(
    tiny_encoder, conversations, aggregation, check_learning
) -> None:
    loss = DialogueCSELoss(tiny_encoder, DialogueCSESettings(aggregation=aggregation))
    check_learning(loss, TextCollator(tiny_encoder)(list(conversations)))


def test_mixed_precision_stops_at_the_encoder(tiny_encoder) -> None:
    tokens, conversation, texts = ragged_batch(dim=32)
    tokens = [matrix.float() for matrix in tokens]
    for aggregation in ("mean", "attention"):
        loss = DialogueCSELoss(tiny_encoder, DialogueCSESettings(aggregation=aggregation))
        full = loss_of(loss, tokens, conversation, texts)
        with torch.autocast("cpu", torch.bfloat16):
            assert torch.equal(loss_of(loss, tokens, conversation, texts), full)


def test_frozen_layers_get_no_gradient_and_no_dropout(tiny_encoder, conversations) -> None:
    loss = DialogueCSELoss(tiny_encoder)
    batch = TextCollator(tiny_encoder)(list(conversations))
    bert = tiny_encoder.transformers_model
    seen = []
    handle = bert.encoder.layer[1].register_forward_hook(lambda *event: seen.append(event[2]))
    with frozen_lower_layers(tiny_encoder, 2):
        tiny_encoder.train()
        assert bert.encoder.layer[2].training and not bert.encoder.layer[1].training and not bert.embeddings.training
        for _ in range(2):
            features = [{name.removeprefix("messages_"): value for name, value in batch.items()}]
            loss(features).backward()
    handle.remove()
    below = [item[0] if isinstance(item, tuple) else item for item in seen]
    assert not any(output.requires_grad for output in below)
    torch.testing.assert_close(below[0], below[len(below) // 2], rtol=0, atol=0)
    assert all(p.grad is None for p in [*bert.embeddings.parameters(), *bert.encoder.layer[:2].parameters()])
    assert bert.encoder.layer[2].output.dense.weight.grad.abs().sum() > 0
    assert all(p.requires_grad for p in bert.parameters())
    tiny_encoder.train()
    assert bert.embeddings.training and bert.encoder.layer[0].training


def test_freezing_every_layer_is_refused(tiny_encoder) -> None:
    with (
        pytest.raises(ValueError, match="cannot freeze 4 layers: the encoder has 4"),
        frozen_lower_layers(tiny_encoder, 4),
    ):
        pass


def test_sliced_encoding_equals_encoding_text_by_text(tiny_encoder, conversations) -> None:
    batch = TextCollator(tiny_encoder)(list(conversations))
    ids, mask = batch["messages_input_ids"], batch["messages_attention_mask"]
    with torch.no_grad():
        slices = list(encode_sliced(tiny_encoder, ids, mask, tokens_per_slice=20))
        assert len(slices) > 2
        assert sorted(torch.cat([piece.rows for piece in slices]).tolist()) == list(range(len(ids)))
        for piece in slices:
            assert piece.tokens.shape[0] == 1 or piece.tokens.shape[0] * piece.tokens.shape[1] <= 20
            for row, tokens in zip(piece.rows, piece.tokens):
                n = int(mask[row].sum())
                alone = tiny_encoder({"input_ids": ids[row, :n][None], "attention_mask": mask[row, :n][None]})
                assert_same_vectors(tokens[:n], alone["token_embeddings"][0])
                assert not tokens[n:].any()
