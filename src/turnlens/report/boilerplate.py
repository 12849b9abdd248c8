"""Boilerplate: signatures, quoted mail, disclaimers, automatic replies, and placeholders of personal data.

Nothing depends on a language. Boilerplate are sentences at the beginning or the end of messages that one role repeats
in many conversations, hardly ever by themselves, and in far more different messages than what stands beside them; lines
that quote (``>``); all from a line of dashes (``--``) on, by which mail programs set off signatures; and automatic
replies (`turnlens.data.automatic_replies`). What a form has one choose from
is repeated like a signature; that it is a request is told by its answers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

import numpy as np

from turnlens._utils.vectors import FloatArray, IntArray
from turnlens.data.automatic_replies import find_automatic_replies, least_conversations
from turnlens.data.sentences import PLACEHOLDER, Piece, letters_of_pieces, pieces_of, quotes_of
from turnlens.encoders.messages import pool_messages
from turnlens.groups.group_settings import LEAST, MOST
from turnlens.groups.pipeline import keys_of
from turnlens.report.corpus import Corpus, mapped

_MORE = 0.15  # so much higher must the mean cosine of its answers be than both others
_MOST = 64  # answers to a sentence that are compared
_OTHERS = 4000  # messages among which the one with the nearest rest is looked for

Sentence = tuple[int, str]  # its role, and its letters


@dataclass(frozen=True)
class Opening:
    """The first message of a conversation, which is answered.

    Attributes:
        text: The message.
        rest: The message without repeated sentences.
        answer: The row of its answer.
        sentences: Its repeated sentences.
    """

    text: str
    rest: str
    answer: int
    sentences: set[Sentence]


def decisive(openings: Sequence[Opening], vectors: FloatArray) -> set[Sentence]:
    """The repeated sentences that decide how they are answered.

    Args:
        openings: The first messages of conversations.
        vectors: The vectors of all messages, of length 1 (n, dim).
    """
    having: dict[Sentence, list[int]] = defaultdict(list)
    for number, opening in enumerate(openings):
        for sentence in opening.sentences:
            having[sentence].append(number)
    answers = np.array([opening.answer for opening in openings], np.int64)
    others = _evenly(np.arange(len(openings)), _OTHERS)
    usual = _alikeness(vectors[answers[others]])
    some = {sentence: _evenly(np.array(rows), _MOST) for sentence, rows in having.items() if len(rows) >= LEAST}
    alike = {sentence: _alikeness(vectors[answers[rows]]) for sentence, rows in some.items()}
    likely = [sentence for sentence in alike if alike[sentence] >= usual + _MORE]
    if not likely:
        return set()
    from sklearn.feature_extraction.text import HashingVectorizer  # takes a second to load

    words = HashingVectorizer(analyzer="char_wb", ngram_range=(3, 3))  # in any language
    texts = words.transform([openings[number].text for number in others.tolist()])
    found = set()
    for sentence in likely:
        is_apart = ~np.isin(others, having[sentence])
        if not is_apart.any():
            continue
        rests = words.transform([openings[number].rest for number in some[sentence].tolist()])
        nearest = (rests @ texts[is_apart].T).toarray().argmax(axis=1)
        own, other = vectors[answers[some[sentence]]], vectors[answers[others[is_apart]]][nearest]
        if alike[sentence] >= float((own * other).sum(axis=1).mean()) + _MORE:
            found.add(sentence)
    return found


def _alikeness(vectors: FloatArray) -> float:
    """The mean cosine of different ones of some vectors of length 1 (n, dim)."""
    count = len(vectors)
    return float((np.square(vectors.sum(axis=0, dtype=np.float64)).sum() - count) / max(1, count * (count - 1)))


def _evenly(numbers: IntArray, most: int) -> IntArray:
    """Return up to `most` of the numbers, evenly spaced."""
    return numbers[:: -(-len(numbers) // most)] if len(numbers) > most else numbers


Spans = tuple[tuple[int, int], ...]  # the start and end of each piece of a text, in order
_TIMES = 2  # as many different messages must have it as have what it stands beside
_ALONE = 0.25  # as often as beside other text, at most, it may be a whole message


def find_boilerplate(
    texts: Sequence[str], conversation: IntArray, role: IntArray, vectors: FloatArray | None = None
) -> list[Spans]:
    """Find the boilerplate of each text.

    Args:
        texts: The messages (n).
        conversation: The conversation of each (n,).
        role: The role of each (n,).
        vectors: The vectors of the messages, of length 1 (n, dim), by which answers are compared; without them,
            sentences that decide the answer are boilerplate, too.
    """
    quotes = [quotes_of(text) for text in texts]
    pieces = [pieces_of(text, quoted) for text, quoted in zip(texts, quotes)]
    letters = [letters_of_pieces(own) for own in pieces]
    places = list(zip(conversation.tolist(), role.tolist()))
    least = least_conversations(len({talk for talk, _ in places}))
    whole: dict[Sentence, set[int]] = defaultdict(set)
    having: dict[Sentence, set[int]] = defaultdict(set)
    messages: set[tuple[int, tuple[str, ...]]] = set()
    for own, message, (talk, speaker) in zip(pieces, letters, places):
        keys = tuple(key for _, _, key in own if key)
        whole[speaker, message].add(talk)
        for key in set(keys):
            having[speaker, key].add(talk)
        messages.add((speaker, keys))
    repeated = _boilerplate_among(
        messages,
        {
            place
            for place, talks in having.items()
            if place[1] and len(talks) >= least and len(whole[place]) <= _ALONE * len(talks)
        },
    )
    automatic = find_automatic_replies(letters, conversation.tolist(), role.tolist())
    is_automatic = [(speaker, message) in automatic for message, (_, speaker) in zip(letters, places)]
    if vectors is not None and repeated:
        repeated -= decisive(_openings(texts, places, pieces, quotes, repeated, is_automatic), vectors)
    return [
        ((0, len(text)),) if whole_text else _struck(own, quoted, speaker, repeated)
        for text, own, quoted, (_, speaker), whole_text in zip(texts, pieces, quotes, places, is_automatic)
    ]


def _boilerplate_among(messages: set[tuple[int, tuple[str, ...]]], often: set[Sentence]) -> set[Sentence]:
    """Find the sentences that are in far more different messages than the sentences that they stand beside.

    A signature stands beside every macro, and a macro beside the few signatures of those who send it. In most of its
    messages, boilerplate has beside it a repeated sentence that half as many different messages have; or else a
    sentence that nobody repeats, and none that twice as many have.

    Args:
        messages: The different messages: the role, and the sentences.
        often: Sentences that many conversations have, seldom by themselves.
    """
    count = Counter((role, key) for role, keys in messages for key in set(keys))
    varied: Counter[Sentence] = Counter()
    for role, keys in messages:
        own = {(role, key) for key in keys}
        repeated = {sentence: count[sentence] for sentence in own & often}
        fewest, most = min(repeated.values(), default=0), max(repeated.values(), default=0)
        for sentence, times in repeated.items():
            is_commonest = len(repeated) < len(own) and most < _TIMES * times
            varied[sentence] += times >= _TIMES * fewest or is_commonest
    return {sentence for sentence in often if count[sentence] >= LEAST and varied[sentence] > MOST * count[sentence]}


def _struck(own: Sequence[Piece], quoted: Sequence[tuple[int, int]], speaker: int, repeated: set[Sentence]) -> Spans:
    """Return the boilerplate of one text: quotes, and repeated sentences from either end on."""
    struck = set(quoted)
    for ordered in (own, own[::-1]):
        for start, end, key in ordered:
            if key and (speaker, key) not in repeated:
                break
            struck |= {(start, end)} if key else set()
    return tuple(sorted(struck))


def _openings(
    texts: Sequence[str],
    places: Sequence[tuple[int, int]],
    pieces: Sequence[Sequence[Piece]],
    quotes: Sequence[Sequence[tuple[int, int]]],
    repeated: set[Sentence],
    is_automatic: Sequence[bool],
) -> list[Opening]:
    """The first messages of conversations that somebody answers, with the repeated sentences that each has."""
    answers: dict[int, int] = {}  # by first message; one that was written, if there is any
    first = 0
    for number, (talk, speaker) in enumerate(places):
        if places[first][0] != talk:
            first = number
        if speaker != places[first][1] and is_automatic[answers.setdefault(first, number)]:
            answers[first] = number
    openings = []
    for first, answer in answers.items():
        asker = places[first][1]
        struck = _struck(pieces[first], quotes[first], asker, repeated)
        sentences = {(asker, key) for start, end, key in pieces[first] if key and (start, end) in struck}
        openings.append(Opening(texts[first], without(texts[first], struck), answer, sentences))
    return openings


def without(text: str, spans: Spans) -> str:
    """The text without what stands in some places."""
    for start, end in reversed(spans):
        text = f"{text[:start]}{text[end:]}"
    return text.strip() if spans else text


def boilerplate_hashes(corpus: Corpus, boilerplate: Sequence[Spans]) -> np.ndarray:
    """Hashes of each sentence and each whole message that was found to be boilerplate, by role; quotes have none."""
    found: set[Sentence] = set()
    for text, role, spans in zip(corpus.texts, corpus.role.tolist(), boilerplate):
        if spans:
            pieces = pieces_of(text, quotes_of(text))
            if spans == ((0, len(text)),):
                found.add((role, letters_of_pieces(pieces)))
            found |= {(role, key) for start, end, key in pieces if (start, end) in spans}
    return np.unique(keys_of([f"{corpus.roles[role]}\n{key}" for role, key in found if key], 0))


def text_as_grouped(text: str, role: str, hashes: Container[int]) -> str:
    """A text as it is embedded to be grouped: without placeholders, and without boilerplate with these hashes."""
    quoted = quotes_of(text)
    pieces = pieces_of(text, quoted)
    keys = [letters_of_pieces(pieces), *(key for _, _, key in pieces)]
    known = [key for key, hash in zip(keys, keys_of([f"{role}\n{key}" for key in keys], 0).tolist()) if hash in hashes]
    if keys[0] in known:
        return ""
    return PLACEHOLDER.sub(" ", without(text, _struck(pieces, quoted, 0, {(0, key) for key in known})))


def without_boilerplate(corpus: Corpus, boilerplate: Sequence[Spans]) -> Corpus:
    """Return the corpus with texts without boilerplate, and vectors of these without placeholders.

    Only messages that have either are embedded again. The store keeps the vectors of whole messages, for search.

    Args:
        corpus: The conversations; their encoder is loaded if any message has to be embedded again.
        boilerplate: The boilerplate of each message, from `find_boilerplate` (n).
    """
    texts = [without(text, spans) for text, spans in zip(corpus.texts, boilerplate)]
    bare = [PLACEHOLDER.sub(" ", text) for text in texts]
    changed = np.flatnonzero([text != before for text, before in zip(bare, corpus.texts)])
    if not len(changed):
        return corpus
    encoder = corpus.encoder.load().with_cache()
    embedded = encoder.messages([bare[row] for row in changed.tolist()])
    vectors, tokens = mapped(corpus.folder / "without_boilerplate.f32", *corpus.vectors.shape), corpus.tokens.copy()
    vectors[:] = corpus.vectors
    vectors[changed], tokens[changed] = embedded["vector"], embedded["tokens"]
    of_conversations = corpus.conversation_vectors
    if encoder.pooling == "messages":
        touched = np.isin(corpus.conversation, corpus.conversation[changed])
        rows = np.flatnonzero(touched & (tokens > 0))
        conversations, starts = np.unique(corpus.conversation[rows], return_index=True)
        of_conversations = np.array(of_conversations)
        if len(rows):
            pooled = pool_messages(np.array(vectors[rows]), tokens[rows], starts, encoder.centre)
            of_conversations[conversations] = pooled
    return replace(corpus, texts=texts, tokens=tokens, vectors=vectors, conversation_vectors=of_conversations)
