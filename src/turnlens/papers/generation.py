"""Candidates for the next message that a causal language model generates."""

from __future__ import annotations

import ctypes
import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import torch

from turnlens._compat import datasets_cache
from turnlens._utils.files import write_text
from turnlens._utils.progress import progress_bar
from turnlens.data.messages import Message
from turnlens.encoders.loading import weights_digest
from turnlens.errors import error_line

_T = TypeVar("_T")


def within(seconds: float, work: Callable[[], _T]) -> _T:
    """Do some work in a thread of its own, and stop the thread when it takes too long.

    Args:
        seconds: The limit.
        work: Python code that computes and never waits, since the thread can only be stopped at its next instruction.

    Returns:
        What ``work`` returns.

    Raises:
        TimeoutError: It took longer. Whatever ``work`` raises is raised too.
    """
    future: Future[_T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        return future.result(seconds)
    finally:
        if thread.is_alive():
            # The only way to stop a thread that does not cooperate; signals would need the main thread.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))


_LONGEST_RENDERING = 10.0  # seconds
_GENERATED_AT_ONCE = 20
_LONGEST = 1000  # tokens of context and reply


def generate_candidates(
    model_name: str,
    context: Sequence[Message],
    n: int = 100,
    top_p: float = 0.8,
    temperature: float = 0.8,
    speaker: str | None = None,
    seed: int = 0,
    device: str | None = None,
    top_k: int | None = None,
    max_tokens: int | None = None,
    show_progress: bool = True,
) -> list[str]:
    """Sample next utterances from a causal language model, by default as for Table 3 of the triple-encoders.

    If the model has a chat template, the prompt is made with it; ``speaker`` is then the assistant and everybody else
    the user. Otherwise the prompt is the turns, each followed by the end-of-sequence token, as in the training of
    DialoGPT. Turns that do not fit are left out, oldest first.

    Args:
        model_name: A folder, or a name of the Hugging Face Hub; weights must be safetensors.
        context: The conversation so far, ``{"role", "content"}`` each.
        n: The number of utterances.
        top_p: Sample from the most likely tokens that together have at least this probability.
        temperature: Temperature of the sampling.
        speaker: Who speaks next.
        seed: The same seed gives the same candidates.
        device: A torch device; ``None`` is a GPU if there is one.
        top_k: Sample from this many of the most likely tokens; 0 means any token. By default the value is that of the
            model or of the library.
        max_tokens: Cut utterances that are longer. By default context and utterance may have 1,000 tokens together, as
            in the authors' code, if the model has positions for that many.
        show_progress: Show a progress bar on a terminal.

    Returns:
        n utterances, not necessarily distinct.

    Raises:
        ValueError: There is no context utterance, a setting is out of range, or the model cannot be loaded.
    """
    if not context:
        raise ValueError("expected a context of at least one utterance, got none")
    if n < 1 or not 0 < top_p <= 1 or temperature <= 0:
        raise ValueError(f"expected n >= 1, 0 < top_p <= 1, temperature > 0; got {n}, {top_p} and {temperature}")
    if (max_tokens is not None and max_tokens < 1) or (top_k is not None and top_k < 0):
        raise ValueError(f"expected max_tokens >= 1 and top_k >= 0, got {max_tokens} and {top_k}")
    tokenizer, model = _load_generator(model_name, device)
    positions = getattr(model.config, "max_position_embeddings", None) or _LONGEST
    if max_tokens is None:
        positions = min(positions, _LONGEST)
    reserved = min(max_tokens or positions, positions // 2)  # for the reply, even if the context is long
    prompt = _prompt(tokenizer, context, speaker, positions - reserved).to(model.device)
    sampling = {"top_p": top_p, "temperature": temperature, **({} if top_k is None else {"top_k": top_k})}
    candidates: list[str] = []
    devices = [model.device] if model.device.type == "cuda" else []
    with progress_bar(show_progress) as bar, torch.random.fork_rng(devices), torch.inference_mode():
        torch.manual_seed(seed)
        task = bar.add_task("generating candidates", total=n)
        while len(candidates) < n:
            tokens = model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                do_sample=True,
                **sampling,
                min_new_tokens=1,
                max_new_tokens=reserved if max_tokens else positions - prompt.shape[1],
                num_return_sequences=min(_GENERATED_AT_ONCE, n - len(candidates)),
                pad_token_id=tokenizer.eos_token_id,
            )  # (candidates, tokens)
            texts = tokenizer.batch_decode(tokens[:, prompt.shape[1] :], skip_special_tokens=True)
            candidates += [text.strip() for text in texts]
            bar.update(task, completed=len(candidates))
    return candidates


@lru_cache(maxsize=8)
def generator_digest(name: str) -> str:
    """A hash of what determines a model's utterances besides the settings: its weights and how it writes a prompt."""
    tokenizer, model = _load_generator(name, None)
    template = json.dumps([tokenizer.chat_template, tokenizer.eos_token, tokenizer.get_vocab()], sort_keys=True)
    generation = model.generation_config.to_json_string()
    return hashlib.blake2b((weights_digest(model) + template + generation).encode(), digest_size=10).hexdigest()


@lru_cache(maxsize=1)  # many contexts in a row are given to the same model
def _load_generator(name: str, device: str | None) -> tuple[Any, Any]:
    from sentence_transformers.util import get_device_name
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        model = AutoModelForCausalLM.from_pretrained(name, use_safetensors=True, trust_remote_code=False)
    except Exception as error:  # the libraries may raise anything for files that are not ours
        problem = "expected the folder or Hub name of a causal language model with safetensors weights"
        raise ValueError(f"cannot load the generator {name!r}, {problem}: {error_line(error)}") from error
    if tokenizer.eos_token_id is None:
        raise ValueError(f"the tokenizer of {name!r} has no end-of-sequence token, which ends every turn")
    return tokenizer, model.to(device or get_device_name()).eval()


def _prompt(tokenizer: Any, context: Sequence[Message], speaker: str | None, longest: int) -> torch.Tensor:
    """Token ids of as many last turns as fit or, if not even the last one fits, of its end (1, tokens)."""
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


@dataclass(frozen=True)
class GeneratedCandidates:
    """Candidates that a causal language model generates after contexts, as in Table 3 of the triple-encoders.

    Call it with a context and the next speaker: ``candidates(context, speaker="assistant")``.

    Attributes:
        model: A folder, or a name of the Hugging Face Hub.
        n: Candidates for each context.
        top_p: As for `turnlens.papers.generate_candidates`.
        temperature: As for `turnlens.papers.generate_candidates`.
        top_k: As for `turnlens.papers.generate_candidates`.
        max_tokens: As for `turnlens.papers.generate_candidates`.
        seed: As for `turnlens.papers.generate_candidates`.
    """

    model: str
    n: int = 100
    top_p: float = 0.8
    temperature: float = 0.8
    top_k: int | None = None
    max_tokens: int | None = None
    seed: int = 0

    def __call__(self, context: Sequence[Message], speaker: str | None = None) -> list[str]:
        """The candidates, generated unless they are in the cache."""
        path = _folder() / f"{self._key(context, speaker)}.json"
        if path.is_file():
            return list(json.loads(path.read_text(encoding="utf-8"))["candidates"])
        settings = {name: value for name, value in asdict(self).items() if name != "model"}
        candidates = generate_candidates(self.model, context, speaker=speaker, show_progress=False, **settings)
        write_text(path, json.dumps({"candidates": candidates}, ensure_ascii=False))
        return candidates

    def describe(self) -> dict[str, object]:
        """Everything that determines the candidates of any context, ready for JSON: weights, tokenizer and settings."""
        return {**asdict(self), "model": generator_digest(self.model)}

    def _key(self, context: Sequence[Message], speaker: str | None) -> str:
        turns = [[message["role"], message["content"]] for message in context]
        text = json.dumps([self.describe(), turns, speaker], sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _folder() -> Path:
    """A folder in the cache directory of ``datasets``, where prepared conversations are kept, too."""
    return datasets_cache() / "turnlens-generated"
