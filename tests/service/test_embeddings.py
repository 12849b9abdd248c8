import base64
import json
import shutil
from typing import Any

import numpy as np
import pytest

import turnlens
from closeness import assert_same_vectors

pytest.importorskip("openai")

import openai
from openai.types import CreateEmbeddingResponse

from .server import run_server

TEXTS = ["my card is lost", "thanks", "i want to order a pizza " * 20, "cancel the flight"]
TALKS = [
    [{"role": "user", "content": "my card is lost"}, {"role": "assistant", "content": "i cancel the card"}],
    [{"role": "user", "content": "a pizza"}],
]


def vectors_of(response) -> np.ndarray:
    assert [item.index for item in response.data] == list(range(len(response.data)))
    return np.array([item.embedding for item in response.data], np.float32)


@pytest.mark.parametrize("encoding", [None, "float", "base64"])
def test_the_openai_client_gets_what_encode_gives(running, tiny_encoder, encoding) -> None:
    given = {"encoding_format": encoding} if encoding else {}
    response = running.openai().embeddings.create(model="tiny", input=TEXTS, **given)
    expected = tiny_encoder.encode(TEXTS)
    if encoding == "base64":  # asked for, the client leaves it as it is
        found = np.stack([np.frombuffer(base64.b64decode(item.embedding), "<f4") for item in response.data])
    else:
        found = vectors_of(response)
    assert_same_vectors(found, expected)
    lengths = [len(tiny_encoder.tokenizer(text, truncation=True)["input_ids"]) for text in TEXTS]
    assert response.usage.prompt_tokens == response.usage.total_tokens == sum(lengths)
    assert response.model == "tiny"


def test_one_text_is_a_list_of_one(running, tiny_encoder) -> None:
    response = running.openai().embeddings.create(model="tiny", input="thanks")
    assert_same_vectors(vectors_of(response), tiny_encoder.encode(["thanks"]))


def test_token_lists_are_the_models_own(running, tiny_encoder) -> None:
    rows = tiny_encoder.tokenizer(["thanks", "my card is lost"])["input_ids"]
    expected = tiny_encoder.encode(["thanks", "my card is lost"])
    own = {"model": "tiny", "extra_body": {"tokenizer": "tiny"}}
    client = running.openai()
    assert_same_vectors(vectors_of(client.embeddings.create(input=rows, **own)), expected)
    assert_same_vectors(vectors_of(client.embeddings.create(input=rows[0], **own)), expected[:1])


def test_token_ids_of_an_unknown_tokenizer_are_refused(client) -> None:
    for input in ([3, 4], [[3, 4], [5]]):
        for further, param in (({}, "input"), ({"tokenizer": "cl100k_base"}, "tokenizer")):
            response = client.post("/v1/embeddings", json={"input": input, **further})
            error = response.json()["error"]
            assert response.status_code == 422 and error["param"] == param
            assert '"tokenizer": "tiny"' in error["message"]
            assert "check_embedding_ctx_length=False" in error["message"]


def test_dimensions_are_the_first_ones_of_length_1(running, tiny_encoder) -> None:
    found = vectors_of(running.openai().embeddings.create(model="tiny", input=TEXTS, dimensions=8))
    first = tiny_encoder.encode(TEXTS)[:, :8]
    assert_same_vectors(found, first / np.linalg.norm(first, axis=1, keepdims=True))


def test_conversations_are_embedded_as_encode_conversations_does(running, tiny_encoder) -> None:
    client = running.openai()
    for pooling in ("mean", "interlocutor", "messages", "speaker:user"):
        body = {"model": "tiny", "messages": TALKS, "pooling": pooling, "encoding_format": "float"}
        response = client.post("/embeddings", body=body, cast_to=CreateEmbeddingResponse)
        assert_same_vectors(vectors_of(response), tiny_encoder.encode_conversations(TALKS, pooling=pooling))


def test_one_conversation_and_many_in_parts(client, tiny_encoder) -> None:
    one = client.post("/v1/embeddings", json={"messages": TALKS[0]}).json()
    many = client.post("/v1/embeddings", json={"messages": TALKS * 400, "model": "tiny"}).json()
    expected = tiny_encoder.encode_conversations(TALKS)
    assert_same_vectors(one["data"][0]["embedding"], expected[0])
    assert_same_vectors([item["embedding"] for item in many["data"]], np.tile(expected, (400, 1)))


def test_another_model_is_not_found(running) -> None:
    with pytest.raises(openai.NotFoundError, match="'gpt' is not served here, only 'tiny'"):
        running.openai().embeddings.create(model="gpt", input="thanks")
    assert [model.id for model in running.openai().models.list()] == ["tiny"]


MISTAKES: list[tuple[dict[str, Any], str | None, str]] = [
    ({"input": ["thanks", 3]}, "input.texts.1", "valid string"),
    ({"input": []}, "input.texts", "at least 1 item"),
    ({"input": [True, False]}, "input.texts.0", "valid string"),
    ({"input": [1, True], "tokenizer": "tiny"}, "input.tokens.1", "valid integer"),
    ({"input": [[True]], "tokenizer": "tiny"}, "input.token_lists.0.0", "valid integer"),
    ({"input": [[1, 2], [99_999]], "tokenizer": "tiny"}, "input.1", "token ids must be below"),
    ({"input": [[1] * 65], "tokenizer": "tiny"}, "input.0", "the model reads 64 tokens, got 65"),
    ({"input": [[1, -1]]}, "input.token_lists.0.1", "greater than or equal to 0"),
    ({"input": "thanks", "dimensions": 33}, "dimensions", "32 dimensions, not 33"),
    ({"input": "thanks", "encoding_format": "int8"}, "encoding_format", "'float' or 'base64'"),
    ({"input": "thanks", "dimension": 8}, "dimension", "did you mean 'dimensions'?"),
    ({"input": "thanks", "messages": TALKS}, None, "either input or messages"),
    ({}, None, "either input or messages"),
    ({"messages": [[{"role": "user"}]]}, "messages", "Field required"),
    ({"messages": TALKS, "pooling": "median"}, "pooling", "pooling must be one of 'mean'"),
    ({"messages": TALKS, "pooling": "speaker:assistant"}, "messages.1", "nobody has the role 'assistant'"),
]


def test_an_error_names_its_place(client) -> None:
    for body, param, message in MISTAKES:
        response = client.post("/v1/embeddings", json=body)
        error = response.json()["error"]
        assert response.status_code == 422 and error["type"] == "invalid_request_error", body
        assert message in error["message"], body
        assert error["param"] == param or error["param"].startswith(f"{param}."), body


def test_a_model_answers_to_its_short_name(tiny_encoder_path) -> None:
    with run_server(model=str(tiny_encoder_path), model_name="somebody/tiny") as server, server.client() as client:
        for name in ("somebody/tiny", "tiny"):
            answer = client.post("/v1/embeddings", json={"input": "a", "model": name}).json()
            assert answer["model"] == "somebody/tiny"
        for name in ("somebody", "somebody/", ""):
            assert client.post("/v1/embeddings", json={"input": "a", "model": name}).status_code == 404


def test_a_body_that_is_not_json_is_refused(client) -> None:
    broken = client.post("/v1/embeddings", content=b"{", headers={"Content-Type": "application/json"})
    # A form of another site can send this without asking the browser's user.
    disguised = client.post("/v1/embeddings", content=b'{"input": "a"}', headers={"Content-Type": "text/plain"})
    assert (broken.status_code, disguised.status_code) == (422, 415)


HALF = "\\ud800"
MESSAGES = f'[{{"role": "u", "content": "{HALF}"}}]'


HALVES = [
    ("embeddings", f'{{"input": "{HALF}"}}'),
    ("embeddings", f'{{"input": ["a", "{HALF}"]}}'),
    ("embeddings", f'{{"messages": {MESSAGES}}}'),
    ("embeddings", f'{{"input": "a", "{HALF}": 1}}'),
    ("rerank", f'{{"query": "{HALF}", "documents": ["a"]}}'),
    ("rerank", f'{{"query": "a", "documents": [{{"text": "{HALF}"}}]}}'),
    ("next", f'{{"messages": {MESSAGES}, "candidates": ["a"]}}'),
    ("next", f'{{"messages": [{{"role": "u", "content": "a"}}], "candidates": ["{HALF}"]}}'),
    ("next", f'{{"messages": [{{"role": "u", "content": "a"}}], "candidates": ["a"], "speaker": "{HALF}"}}'),
]


def test_half_of_a_surrogate_pair_is_no_text(client) -> None:
    for path, body in HALVES:
        response = client.post(f"/v1/{path}", content=body, headers={"Content-Type": "application/json"})
        message = response.json()["error"]["message"]
        assert response.status_code == 422 and ("surrogate" in message or "hex escape" in message), body


UNKNOWN_FIELDS: list[tuple[str, dict[str, Any], str]] = [
    ("search", {"q": "a"}, "did you mean 'query'?"),
    ("search", {"Query": "a"}, "did you mean 'query'?"),
    ("search", {"query": "a", "filter": "x"}, "did you mean 'where'?"),
    ("search", {"query": "a", "top_k": 3}, "did you mean 'limit'?"),
    ("embeddings", {"texts": ["a"]}, "did you mean 'input'?"),
    ("rerank", {"query": "a", "docs": ["a"]}, "did you mean 'documents'?"),
    ("next", {"message": [], "candidates": ["a"]}, "did you mean 'messages'?"),
    ("next", {"messages": [], "zzz": 1}, "expected some of model, messages, candidates"),
    ("embeddings", {f"k{number}": 0 for number in range(60)}, "; and 55 more"),
]


def test_an_unknown_field_is_refused_with_a_suggestion(client) -> None:
    for path, body, told in UNKNOWN_FIELDS:
        response = client.post(f"/v1/{path}", json=body)
        assert response.status_code == 422 and told in response.json()["error"]["message"], body
        assert len(response.text) < 2000


MANY_VALUES = [
    "{" + ", ".join(f'"k{number}": 0' for number in range(1000)) + "}",
    '{"input": [' + ", ".join(["[]"] * 1000) + "]}",
    '{"messages": [' + ", ".join(['{"role": "u", "content": ""}'] * 400) + "]}",
    '{"input": ' + '"", ' * 1000,
    '{"input": ' + '""' * 3000,
]


def test_too_many_values_are_refused_unparsed(tiny_encoder_path, monkeypatch) -> None:
    monkeypatch.setattr("turnlens.service.request_bodies.from_json", pytest.fail)
    with run_server(model=str(tiny_encoder_path), max_values=500) as server, server.client() as client:
        for body in MANY_VALUES:
            for path in ("embeddings", "rerank", "next"):
                response = client.post(f"/v1/{path}", content=body, headers={"Content-Type": "application/json"})
                assert response.status_code == 413 or '""""' in body, body[:50]


def test_separators_in_a_text_are_no_values(tiny_encoder_path) -> None:
    with run_server(model=str(tiny_encoder_path), max_values=20) as server, server.client() as client:
        for text in ("a, " * 100, '[{"' * 100, '\\" , \\\\ [' * 50):
            assert client.post("/v1/embeddings", json={"input": text}).status_code == 200


def test_the_first_error_of_a_list_is_told(client) -> None:
    for body in ({"input": ["a", *[3] * 2000]}, {"messages": [{"role": "u"}] * 2000}):
        error = client.post("/v1/embeddings", json=body).json()["error"]
        assert len(error["message"]) < 400 and error["message"].count(";") < 5


def test_a_very_long_text_is_embedded_as_its_start(running, tiny_encoder) -> None:
    texts = ["i want to order a pizza " * 50_000, "thanks\n\n" * 30_000, "my card " + "is lost " * 9000]
    found = vectors_of(running.openai().embeddings.create(model="tiny", input=texts))
    assert np.abs(found - tiny_encoder.encode([text[:5000] for text in texts])).max() < 1e-5


def test_long_texts_without_tokens_are_refused(client) -> None:
    for text in ("x" * 200_000, " " * 200_000 + "a"):
        for body in ({"input": text}, {"messages": [{"role": "u", "content": text}]}):
            response = client.post("/v1/embeddings", json=body)
            assert response.status_code == 413 and "characters" in response.json()["error"]["message"]


def test_words_without_a_vector_are_refused(tiny_encoder_path, tmp_path) -> None:
    folder = shutil.copytree(tiny_encoder_path, tmp_path / "encoder")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["pizza"] = 5000
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    with run_server(model=str(folder)) as server, server.client() as client:
        for text, status in (("my card", 200), ("a pizza", 422)):
            answer = client.post("/v1/embeddings", json={"input": text})
            assert answer.status_code == status, answer.text
    assert "token id 5,000" in answer.json()["error"]["message"]


def test_rerank_orders_documents_by_cosine(client, tiny_encoder) -> None:
    documents = ["a pizza", {"text": "my card is lost"}, "thanks"]
    body = {"query": "my card", "documents": documents, "top_n": 2, "return_documents": True}
    response = client.post("/v1/rerank", json=body).json()
    vectors = tiny_encoder.encode(["my card", "a pizza", "my card is lost", "thanks"])
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = units[1:] @ units[0]
    assert [result["index"] for result in response["results"]] == list(np.argsort(-cosines)[:2])
    for result in response["results"]:
        assert result["relevance_score"] == pytest.approx(cosines[result["index"]], abs=1e-5)
        assert result["document"] in ({"text": "a pizza"}, {"text": "my card is lost"}, {"text": "thanks"})
    assert response["scoring"] == "bi-encoder"


def test_next_ranks_as_a_sequence_model_does(client, tiny_encoder) -> None:
    replies = ["i cancel the card", "a pizza", "thanks"]
    response = client.post("/v1/next", json={"messages": TALKS[0], "candidates": replies, "limit": 2}).json()
    model = turnlens.ReplyModel(tiny_encoder)
    talk = model.start("user")
    for message in TALKS[0]:
        talk.add(message["content"], message["role"])
    scores = talk.score(model.encode_candidates(replies))
    assert [reply["text"] for reply in response["replies"]] == [replies[row] for row in np.argsort(-scores)[:2]]
    assert response["replies"][0]["score"] == pytest.approx(scores.max(), abs=1e-5)
