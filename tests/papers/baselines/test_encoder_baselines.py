from typing import Any, Self

import numpy as np
import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer

from closeness import assert_same_vectors
from turnlens.papers.adaptation import Adaptation
from turnlens.papers.baselines import Concatenation, Flow, PooledEncoder, Whitening
from turnlens.papers.baselines.baseline import utterances
from turnlens.papers.baselines.flow import Glow


class Fixed:
    """Embeddings of a stretched, correlated cloud off the origin, one for each distinct text."""

    def __init__(self, dim: int = 6, rank: int = 6) -> None:
        generator = np.random.default_rng(0)
        self.mix = generator.normal(size=(rank, dim)) * np.logspace(0, 1, dim)
        self.rank = rank

    def fit(self, conversations: Any) -> Self:
        return self

    def encode_messages(self, texts: Any) -> np.ndarray:
        rows = [np.random.default_rng(list(text.encode())).normal(size=self.rank) for text in texts]
        return (5 + np.array(rows) @ self.mix).astype(np.float32)


def test_pooling_is_that_of_the_encoder_itself(tiny_encoder: SentenceTransformer, corpus: Dataset) -> None:
    texts = utterances(corpus)[:30]
    assert_same_vectors(PooledEncoder(tiny_encoder).encode_messages(texts), tiny_encoder.encode(texts))
    tiny_encoder[1].pooling_mode = "cls"
    vectors = PooledEncoder(tiny_encoder, "cls").fit(corpus).encode_messages(texts)
    assert_same_vectors(vectors, tiny_encoder.encode(texts))


@pytest.mark.slow
def test_encoders_beat_random(word_encoder: SentenceTransformer, corpus: Dataset, beats_random) -> None:
    mean, cls = PooledEncoder(word_encoder), PooledEncoder(word_encoder, "cls")
    for baseline in (mean, cls, Whitening(mean), Flow(mean), Concatenation(mean, mean)):
        beats_random(baseline.fit(corpus))


def test_adaptation_changes_a_copy_and_is_settled_by_its_seed(
    word_encoder: SentenceTransformer, corpus: Dataset, beats_random
) -> None:
    texts = ["i want to cancel my order", "thanks"]
    before = PooledEncoder(word_encoder).encode_messages(texts)
    settings = Adaptation(max_steps=2, batch_size=16, learning_rate=1e-3)
    first, second = (PooledEncoder(word_encoder, adaptation=settings).fit(corpus) for _ in range(2))
    vectors = first.encode_messages(texts)
    assert np.abs(vectors - before).max() > 1e-3
    assert np.array_equal(vectors, second.encode_messages(texts))
    assert np.array_equal(PooledEncoder(word_encoder).encode_messages(texts), before)
    beats_random(first)


def test_whitened_embeddings_have_the_identity_as_covariance(corpus: Dataset) -> None:
    texts = utterances(corpus)
    white = Whitening(Fixed()).fit(corpus).encode_messages(texts).astype(np.float64)
    assert white.shape == (len(texts), 6)
    assert white.mean(axis=0) == pytest.approx(np.zeros(6), abs=1e-5)
    assert white.T @ white / len(texts) == pytest.approx(np.eye(6), abs=1e-5)
    # The first k directions are those of most variance, and dimensions without variance are no directions.
    some = Whitening(Fixed(), dim=2).fit(corpus).encode_messages(texts)
    assert_same_vectors(some, white[:, :2])
    flat = Whitening(Fixed(rank=4)).fit(corpus).encode_messages(texts)
    assert flat.shape == (len(texts), 4)
    assert np.cov(flat.T, bias=True) == pytest.approx(np.eye(4), abs=1e-4)


def test_whitening_is_the_papers_formula(corpus: Dataset) -> None:
    texts = utterances(corpus)
    vectors = Fixed().encode_messages(texts).astype(np.float64)
    mean = vectors.sum(axis=0) / len(vectors)
    u, s, _ = np.linalg.svd(np.cov(vectors.T, bias=True))
    literal = (vectors - mean) @ (u @ np.diag(np.sqrt(1 / s)))
    found = Whitening(Fixed()).fit(corpus).encode_messages(texts)
    assert np.abs(found) == pytest.approx(np.abs(literal), abs=1e-4)  # the sign of a direction is free


@pytest.mark.slow
@pytest.mark.parametrize("dim", [16, 13])
def test_the_flow_raises_the_likelihood(corpus: Dataset, dim: int) -> None:
    flow = Flow(Fixed(dim=dim, rank=13), epochs=12).fit(corpus)
    embeddings = torch.from_numpy(flow.base.encode_messages(utterances(corpus)))
    with torch.no_grad():
        mapped = flow.glow(embeddings)
    assert np.array_equal(flow.encode_messages(utterances(corpus)), mapped.numpy())
    # Most of what there is to gain, the first batch gives.
    assert len(flow.likelihoods) == 12 and flow.likelihoods[-1] > flow.likelihoods[0] + 0.05


def test_the_likelihood_is_that_of_the_density() -> None:
    """By change of variables, with the determinant of the Jacobian computed from scratch."""
    torch.manual_seed(0)
    glow = Glow(8).double()
    batch = torch.randn(40, 8, dtype=torch.float64) * torch.linspace(0.5, 4, 8) + 3
    glow(batch)  # the first batch settles shifts and scales
    for parameter in glow.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    one = batch[:1]
    jacobian = torch.autograd.functional.jacobian(lambda row: glow(row[None])[0], one[0])
    normal = torch.distributions.Normal(0.0, 1.0).log_prob(glow(one)).sum()
    assert glow.log_likelihoods(one).item() == pytest.approx((normal + jacobian.det().abs().log()).item())


def test_the_first_batch_leaves_a_flow_of_mean_0_and_deviation_1() -> None:
    torch.manual_seed(0)
    mapped = Glow(16)(torch.randn(200, 16) * 7 - 2)
    assert mapped.mean(0).detach().numpy() == pytest.approx(np.zeros(16), abs=1e-5)
    assert mapped.std(0, unbiased=False).detach().numpy() == pytest.approx(np.ones(16), abs=1e-4)
    constant = torch.randn(200, 16)
    constant[:, 3] = 1e-9 * torch.randn(200)
    glow = Glow(16)
    glow.log_likelihoods(constant).mean().backward()
    assert max(parameter.grad.abs().max() for parameter in glow.parameters()) < 100
    with pytest.raises(ValueError, match="3 levels need 8 dimensions or more, got 7"):
        Glow(7)


def test_the_flow_is_settled_by_its_seed_and_leaves_the_generator_alone(corpus: Dataset) -> None:
    texts = utterances(corpus)[:5]

    def mapped(seed: int) -> np.ndarray:
        return Flow(Fixed(dim=8), epochs=1, seed=seed).fit(corpus).encode_messages(texts)

    torch.manual_seed(5)
    state = torch.get_rng_state()
    first = mapped(0)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(6)
    assert np.array_equal(mapped(0), first)
    assert not np.array_equal(mapped(1), first)


def test_whitening_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="dim must be 1 or more, got 0"):
        Whitening(Fixed(), dim=0)
    same = [{"messages": [{"role": "user", "content": "hello"}]}]
    with pytest.raises(ValueError, match="same embedding"):
        Whitening(Fixed()).fit(same)
