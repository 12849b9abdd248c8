import json
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from turnlens.encoders.reply_model import ReplyModel
from turnlens.papers.triple_encoders.planning import rank
from turnlens.store import ConversationStore

from .command_line import fail, run, succeed

TALKS = {
    "first": [("user", "i want a pizza"), ("assistant", "what do you want"), ("user", "thanks")],
    "second": [("ann", "hello"), ("ben", "my card is lost"), ("cleo", "cancel it"), ("ann", "hello")],
}
REPLIES = ["your flight", "thanks", "my [bold]order[/bold]", "a pizza is to cancel"]


@pytest.fixture
def model(tiny_encoder: SentenceTransformer, with_views, tmp_path: Path) -> Path:
    with_views(tiny_encoder, "c3l").save_pretrained(str(tmp_path / "model"), create_model_card=False)
    return tmp_path / "model"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Conversations, and a text file of candidates with a repeated and an empty line."""
    talks, replies = tmp_path / "talks.jsonl", tmp_path / "replies.txt"
    rows = [{"id": id, "messages": [{"role": r, "content": c} for r, c in turns]} for id, turns in TALKS.items()]
    talks.write_text("\n".join(map(json.dumps, rows)))
    replies.write_text("\n".join([*REPLIES, "", REPLIES[0]]))
    return talks, replies


def ranked(folder: Path, *arguments: object) -> list[tuple[str, float]]:
    succeed(*arguments, "--output", folder / "ranked.json", "--force")
    return [(row["message"], row["score"]) for row in json.loads((folder / "ranked.json").read_text())]


def expected(model: Path, id: str, speaker: str, texts: list[str], mode="average") -> list[tuple[str, float]]:
    reply_model = ReplyModel(SentenceTransformer(str(model), device="cpu"))
    running = reply_model.start(speaker)
    for role, content in TALKS[id]:
        running.add(content, role)
    scores = running.score(reply_model.encode_candidates(texts), mode)
    return sorted(zip(texts, scores.tolist()), key=lambda pair: -pair[1])


def assert_same(found: list[tuple[str, float]], wanted: list[tuple[str, float]]) -> None:
    assert [text for text, _ in found] == [text for text, _ in wanted]
    np.testing.assert_allclose([score for _, score in found], [score for _, score in wanted], rtol=1e-4)


def test_reply_ranks_the_candidates(model, files, tmp_path) -> None:
    talks, replies = files
    arguments = ("reply", model, "--candidates", replies, "--conversation", talks)
    # The next speaker is the one before the last: the assistant, and cleo.
    assert_same(ranked(tmp_path, *arguments), expected(model, "first", "assistant", REPLIES))
    second = (*arguments, "--id", "second")
    assert_same(ranked(tmp_path, *second, "--top", 2), expected(model, "second", "cleo", REPLIES)[:2])
    assert_same(ranked(tmp_path, *second, "--mode", "max"), expected(model, "second", "cleo", REPLIES, "max"))
    options = ("--mode", "last-1", "--speaker", "ben")
    assert_same(ranked(tmp_path, *second, *options), expected(model, "second", "ben", REPLIES, "last-1"))
    assert "[bold]" in run(*arguments).output


def test_nothing_is_overwritten_unless_forced(model, files, tmp_path) -> None:
    talks, replies = files
    for output in (talks, model):
        result = run("reply", model, "--candidates", replies, "--conversation", talks, "--output", output)
        assert result.exit_code == 1 and ("--force" in result.output or "is a folder" in result.output)
    assert talks.is_file() and Path(model).is_dir()


def test_candidates_come_from_conversations_too(model, files, tmp_path) -> None:
    talks, _ = files
    texts = list(dict.fromkeys(content for turns in TALKS.values() for _, content in turns))
    ranks = ranked(tmp_path, "reply", model, "--candidates", talks, "--conversation", talks)
    assert_same(ranks, expected(model, "first", "assistant", texts))


def test_a_plain_encoder_sums_cosines(tiny_encoder_path, files, tmp_path) -> None:
    talks, replies = files
    ranks = ranked(tmp_path, "reply", tiny_encoder_path, "--candidates", replies, "--conversation", talks)
    assert_same(ranks, expected(tiny_encoder_path, "first", "assistant", REPLIES, "bi"))


@pytest.mark.slow
def test_a_usual_reply_of_a_store_is_suggested(tmp_path: Path) -> None:
    talk = [("user", "Where is my parcel?"), ("assistant", "Your parcel will arrive tomorrow.")]
    messages = [{"role": role, "content": content} for role, content in talk]
    ConversationStore.open(tmp_path / "talks").add([{"id": str(number), "messages": messages} for number in range(5)])
    for asked, told in (("Where is my parcel?", "Suggested first"), ("I'd like a table for two.", "No suggestion")):
        chat = tmp_path / "chat.jsonl"
        chat.write_text(json.dumps({"id": "new", "messages": [{"role": "user", "content": asked}]}))
        answer = succeed("reply", "--store", tmp_path / "talks", "--conversation", chat)
        assert told in answer and talk[1][1] in answer
    unknown = fail("reply", "--store", tmp_path / "talks", "--conversation", chat, "--speaker", "agnt")
    assert "speaker agnt: no message has the role 'agnt'; there are assistant, user" in unknown


def test_plan_ranks_given_and_generated_candidates(model, files, tmp_path, save_generator) -> None:
    talks, replies = files
    arguments = ("papers", "plan", model, "--conversation", talks, "--goal", "cancel my card")
    reply_model = ReplyModel(SentenceTransformer(str(model), device="cpu"))
    messages = [{"role": role, "content": content} for role, content in TALKS["first"]]
    for options, goal_speaker in (((), "assistant"), (("--goal-speaker", "user"), "user")):
        scores = rank(reply_model, messages, REPLIES, "cancel my card", "assistant", goal_speaker)
        wanted = sorted(zip(REPLIES, scores.tolist()), key=lambda pair: -pair[1])
        assert_same(ranked(tmp_path, *arguments, "--candidates", replies, *options), wanted)
    generator = save_generator(tmp_path / "generator")
    ranks = ranked(tmp_path, *arguments, "--generator", generator, "--number", 5, "--top", 3)
    assert len({text for text, _ in ranks}) == 3
    assert ranks == ranked(tmp_path, *arguments, "--generator", generator, "--number", 5, "--top", 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reply", "--candidates", "EMPTY"), "found no message"),
        (("reply", "--candidates", "REPLIES", "--id", "third"), "found no conversation 'third'"),
        (("reply", "--candidates", "REPLIES", "--mode", "mean"), "not one of this model's, which are average, last-1"),
        (("reply", "--candidates", "nowhere.txt"), "nowhere.txt"),
        (("papers", "plan", "--goal", "bye"), "either --candidates or --generator, got neither"),
        (
            ("papers", "plan", "--goal", "bye", "--candidates", "REPLIES", "--generator", "x"),
            "either --candidates or --generator, got both",
        ),
        (("papers", "plan", "--goal", "bye", "--generator", "./nowhere"), "cannot load the generator"),
    ],
)
def test_mistakes_are_one_line_and_exit_with_1(arguments, message, model, files, tmp_path) -> None:
    talks, replies = files
    (tmp_path / "empty.txt").write_text("\n \n")
    paths = {"EMPTY": tmp_path / "empty.txt", "REPLIES": replies}
    command = ("papers", "plan") if arguments[0] == "papers" else arguments[:1]
    options = (paths.get(argument, argument) for argument in arguments[len(command) :])
    assert message in fail(*command, model, "--conversation", talks, *options)
