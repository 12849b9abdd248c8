"""Short-term planning: which next utterance leads to a goal some turns ahead.

Erker et al., Triple-Encoders, ACL 2024, section 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jinja2 import TemplateError

from turnwise.pair_scores import inverse_pair_norms, normalised
from turnwise.progress import progress_bar
from turnwise.sequence import SequenceModel, encode_turns
from turnwise.views import encode_view

Message = dict[str, Any]

_LONGEST_REPLY = 40  # tokens
_GENERATED_AT_ONCE = 20


def bi_plan_scores(candidates: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """``cos(B(c), A(g))`` for each candidate.

    Args:
        candidates: Before-embeddings of the candidates (..., m, dim); before-2 of a triple-encoder.
        goal: After-embedding of the goal (..., dim).

    Returns:
        (..., m)

    Raises:
        ValueError: The shapes do not fit.
    """
    _check(candidates, goal)
    return _cosines(candidates, goal)


def triple_plan_scores(before1: np.ndarray, candidates: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """``n · cos(B2(c), A(g)) + Σ_i cos((B1(u_i) + B2(c)) / 2, A(g))`` for each candidate (Eq. 4).

    Args:
        before1: Before-1-embeddings of the n context utterances (..., n, dim).
        candidates: Before-2-embeddings of the candidates (..., m, dim).
        goal: After-embedding of the goal (..., dim).

    Returns:
        (..., m)

    Raises:
        ValueError: The shapes do not fit.
    """
    _check(candidates, goal)
    if before1.ndim < 2 or before1.shape[-2] == 0 or before1.shape[-1] != goal.shape[-1]:
        raise ValueError(f"expected at least one context utterance (..., n, {goal.shape[-1]}), got {before1.shape}")
    unit_goal = normalised(goal)[..., None]  # (..., dim, 1)
    of_context, of_candidates = before1 @ unit_goal, candidates @ unit_goal  # (..., n, 1), (..., m, 1)
    # The cosine of a pair is the sum of its two inner products over the norm of the sum.
    pairs = (of_context + of_candidates.swapaxes(-1, -2)) * inverse_pair_norms(before1, candidates)  # (..., n, m)
    return np.asarray(before1.shape[-2] * _cosines(candidates, goal) + pairs.sum(-2))


def rank(
    model: SequenceModel,
    context: Sequence[Message],
    candidates: Sequence[str],
    goal: str,
    candidate_speaker: str | None = None,
    goal_speaker: str | None = None,
) -> np.ndarray:
    """Score candidates for the next utterance by how well they lead to a goal; higher is better.

    Args:
        model: The model. With a triple-encoder the context counts, else only candidate and goal.
        context: The conversation so far, ``{"role", "content"}`` each.
        candidates: What could be said next.
        goal: What should be said some turns later.
        candidate_speaker: Who says the candidates; ``None`` for somebody who has not spoken yet.
        goal_speaker: Who says the goal; likewise, and if both are ``None`` it is the same person.

    Returns:
        (len(candidates),)

    Raises:
        ValueError: There is no context utterance or no candidate.
    """
    if not context or not candidates:
        raise ValueError(f"expected turns and candidates, got {len(context)} turns and {len(candidates)} candidates")
    encoder = model.encoder
    after = encode_view(encoder, [goal], "after")[0]
    # Speakers are told apart by their relation to the goal's, whose after-text all the others are paired with.
    before = encode_view(encoder, candidates, "before", same=candidate_speaker == goal_speaker)
    if not model.is_triple:
        return bi_plan_scores(before, after)
    texts, same = [message["content"] for message in context], [message["role"] == goal_speaker for message in context]
    return triple_plan_scores(encode_turns(encoder, texts, same, "before1"), before, after)


def generate_candidates(
    model_name: str,
    context: Sequence[Message],
    n: int = 100,
    top_p: float = 0.8,
    temperature: float = 0.8,
    speaker: str | None = None,
    seed: int = 0,
    device: str | None = None,
) -> list[str]:
    """Sample next utterances from a causal language model.

    The prompt is the model's chat template if it has one, in which ``speaker`` is the assistant and everybody else the
    user; otherwise the turns, each ended by the end-of-sequence token, as DialoGPT was trained. Turns that do not fit
    are left out, oldest first.

    Args:
        model_name: A folder, or a name of the Hugging Face Hub; weights must be safetensors.
        context: The conversation so far, ``{"role", "content"}`` each.
        n: How many.
        top_p: Sample from the likeliest tokens of at least this probability together.
        temperature: Of the sampling.
        speaker: Who speaks next.
        seed: The same seed gives the same candidates.
        device: A torch device; ``None`` is a GPU if there is one.

    Returns:
        n utterances, not necessarily distinct.

    Raises:
        ValueError: There is no context utterance, a setting is out of range, or the model cannot be loaded.
    """
    if not context:
        raise ValueError("expected a context of at least one utterance, got none")
    if n < 1 or not 0 < top_p <= 1 or temperature <= 0:
        raise ValueError(f"expected n >= 1, 0 < top_p <= 1, temperature > 0; got {n}, {top_p} and {temperature}")
    tokenizer, model = _load_generator(model_name, device)
    positions = getattr(model.config, "max_position_embeddings", None) or 1024
    longest_reply = min(_LONGEST_REPLY, positions // 2)
    prompt = _prompt(tokenizer, context, speaker, positions - longest_reply).to(model.device)
    found: list[str] = []
    devices = [model.device] if model.device.type == "cuda" else []
    with progress_bar() as bar, torch.random.fork_rng(devices), torch.inference_mode():
        torch.manual_seed(seed)
        task = bar.add_task("generating candidates", total=n)
        while len(found) < n:
            tokens = model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                do_sample=True,
                top_p=top_p,
                top_k=0,
                temperature=temperature,
                min_new_tokens=1,
                max_new_tokens=longest_reply,
                num_return_sequences=min(_GENERATED_AT_ONCE, n - len(found)),
                pad_token_id=tokenizer.eos_token_id,
            )  # (candidates, tokens)
            texts = tokenizer.batch_decode(tokens[:, prompt.shape[1] :], skip_special_tokens=True)
            found += [text.strip() for text in texts]
            bar.update(task, completed=len(found))
    return found


@lru_cache(maxsize=1)  # one context after the other is given to the same model
def _load_generator(name: str, device: str | None) -> tuple[Any, Any]:
    from safetensors import SafetensorError
    from sentence_transformers.util import get_device_name
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        model = AutoModelForCausalLM.from_pretrained(name, use_safetensors=True, trust_remote_code=False)
    except (OSError, ValueError, SafetensorError) as error:
        problem = "expected the folder or Hub name of a causal language model with safetensors weights"
        raise ValueError(f"cannot load the generator {name!r}, {problem}: {error}") from error
    if tokenizer.eos_token_id is None:
        raise ValueError(f"the tokenizer of {name!r} has no end-of-sequence token, which ends every turn")
    return tokenizer, model.to(device or get_device_name()).eval()


def _prompt(tokenizer: Any, context: Sequence[Message], speaker: str | None, longest: int) -> torch.Tensor:
    """Token ids of as many of the last turns as fit, and of the end of the last if not even that fits (1, tokens)."""
    for start in range(len(context)):
        ids = _prompt_ids(tokenizer, context[start:], speaker)
        if len(ids) <= longest:
            break
    return torch.tensor([ids[-longest:]])


def _prompt_ids(tokenizer: Any, context: Sequence[Message], speaker: str | None) -> list[int]:
    if tokenizer.chat_template is None:
        return tokenizer("".join(m["content"] + tokenizer.eos_token for m in context))["input_ids"]
    chat: list[Message] = []
    for message in context:
        role = "assistant" if message["role"] == speaker else "user"
        if chat and chat[-1]["role"] == role:  # many templates insist on alternating roles
            chat[-1]["content"] += "\n" + message["content"]
        else:
            chat.append({"role": role, "content": message["content"]})
    try:
        return tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)["input_ids"]
    except TemplateError as error:
        raise ValueError(f"the generator's chat template does not take this conversation: {error}") from error


def _cosines(vectors: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """(..., m, dim) and (..., dim) to (..., m)"""
    return np.asarray((normalised(vectors) @ normalised(goal)[..., None])[..., 0])


def _check(candidates: np.ndarray, goal: np.ndarray) -> None:
    if candidates.ndim < 2 or candidates.shape[-2] == 0 or candidates.shape[-1] != goal.shape[-1]:
        shape = (*candidates.shape[:-2], "m", goal.shape[-1])
        raise ValueError(f"expected at least one candidate {shape}, got {candidates.shape}")
