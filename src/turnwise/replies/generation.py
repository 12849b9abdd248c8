"""Candidates sampled from a causal language model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import torch

from turnwise._utils.progress import progress_bar
from turnwise._utils.time_limit import within
from turnwise.data.messages import Message
from turnwise.errors import error_line

_LONGEST_REPLY = 40  # tokens
_LONGEST_RENDERING = 10.0  # seconds
_GENERATED_AT_ONCE = 20


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
        n: The number of utterances.
        top_p: Sample from the likeliest tokens that together have at least this probability.
        temperature: Temperature of the sampling.
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


@lru_cache(maxsize=1)  # many contexts in a row are given to the same model
def _load_generator(name: str, device: str | None) -> tuple[Any, Any]:
    from sentence_transformers.util import get_device_name
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        model = AutoModelForCausalLM.from_pretrained(name, use_safetensors=True, trust_remote_code=False)
    except Exception as error:  # whatever the libraries stumble on in files that are not ours
        problem = "expected the folder or Hub name of a causal language model with safetensors weights"
        raise ValueError(f"cannot load the generator {name!r}, {problem}: {error_line(error)}") from error
    if tokenizer.eos_token_id is None:
        raise ValueError(f"the tokenizer of {name!r} has no end-of-sequence token, which ends every turn")
    return tokenizer, model.to(device or get_device_name()).eval()


def _prompt(tokenizer: Any, context: Sequence[Message], speaker: str | None, longest: int) -> torch.Tensor:
    """Token ids of as many of the last turns as fit, or of the end of the last if not even that fits (1, tokens)."""
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
    render = partial(tokenizer.apply_chat_template, chat, add_generation_prompt=True, return_dict=True)
    try:
        return within(_LONGEST_RENDERING, render)["input_ids"]
    except TimeoutError:
        problem = f"it is not rendered after {_LONGEST_RENDERING:.0f} seconds"
        raise ValueError(f"the generator's chat template does not take this conversation: {problem}") from None
    except Exception as error:  # a template is a program: anything can go wrong in it
        problem = error_line(error)
        raise ValueError(f"the generator's chat template does not take this conversation: {problem}") from error
