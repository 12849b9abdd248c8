"""A synthetic PLATO checkpoint, with the names and shapes of the authors', against a literal forward pass."""

import string
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.functional import gelu, layer_norm, linear
from transformers import BertTokenizerFast
from typer.testing import CliRunner

import turnlens
from closeness import assert_same_vectors
from turnlens.cli.main import app
from turnlens.encoders.forward import encode_sliced, padded
from turnlens.encoders.rendering import Renderer
from turnlens.papers.dial2vec.plato import convert_plato
from turnlens.papers.dial2vec.recipe import Dial2vec
from turnlens.papers.dial2vec.turn_tables import turn_tables_of
from turnlens.training.encoder_modes import frozen_lower_layers
from turnlens.training.recipes import get_recipe

WIDTH, LAYERS, HEADS, POSITIONS = 32, 3, 4, 80
EPSILON = 1e-6
WORDS = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "yes", "pizza", "please"]
WORDS += [*string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase)]
TALK = [
    {"role": "bot", "content": "hello"},
    {"role": "human", "content": "pizza please"},
    {"role": "bot", "content": "yes yes hello"},
    {"role": "bot", "content": "please"},
]


def checkpoint() -> dict[str, Tensor]:
    torch.manual_seed(0)
    shapes: dict[str, tuple[int, ...]] = {
        "embedder.token_embedding.weight": (len(WORDS), WIDTH),
        "embedder.pos_embedding.weight": (POSITIONS, WIDTH),
        "embedder.type_embedding.weight": (2, WIDTH),
        "embedder.turn_embedding.weight": (16, WIDTH),
        "embed_layer_norm.weight": (WIDTH,),
        "embed_layer_norm.bias": (WIDTH,),
        # what it generates replies with
        "discriminator.0.weight": (1, WIDTH),
        "discriminator.0.bias": (1,),
        "mask_embed": (1, 1, WIDTH),
        "latent_embeddings": (20, WIDTH),
    }
    for layer in range(LAYERS):
        outputs = {"attn.linear_qkv": (3 * WIDTH, WIDTH), "attn.linear_out": (WIDTH, WIDTH)}
        outputs |= {"ff.linear_hidden.0": (4 * WIDTH, WIDTH), "ff.linear_out": (WIDTH, 4 * WIDTH)}
        for name, (rows, columns) in outputs.items():
            shapes[f"layers.{layer}.{name}.weight"] = (rows, columns)
            shapes[f"layers.{layer}.{name}.bias"] = (rows,)
        for name in ("attn_norm", "ff_norm"):
            shapes[f"layers.{layer}.{name}.weight"] = shapes[f"layers.{layer}.{name}.bias"] = (WIDTH,)
    return {name: 0.3 * torch.randn(shape) for name, shape in shapes.items()}


def literal(weights: dict[str, Tensor], talk: list[dict[str, str]]) -> Tensor:
    """PLATO's hidden states of one conversation, token by token and head by head (tokens, width)."""
    roles = list(dict.fromkeys(message["role"] for message in talk))
    inputs = []
    for number, message in enumerate(talk):
        words = [WORDS.index(word) for word in message["content"].split()] + [WORDS.index("[unused1]")]
        for position, word in enumerate(words):
            inputs.append(
                weights["embedder.token_embedding.weight"][word]
                + weights["embedder.pos_embedding.weight"][position]
                + weights["embedder.type_embedding.weight"][roles.index(message["role"])]
                + weights["embedder.turn_embedding.weight"][min(len(talk) - number, 15)]
            )

    def norm(name: str, values: Tensor) -> Tensor:
        return layer_norm(values, (WIDTH,), weights[f"{name}.weight"], weights[f"{name}.bias"], EPSILON)

    def dense(name: str, values: Tensor) -> Tensor:
        return linear(values, weights[f"{name}.weight"], weights[f"{name}.bias"])

    hidden, head = norm("embed_layer_norm", torch.stack(inputs)), WIDTH // HEADS
    for layer in range(LAYERS):
        query, key, value = dense(f"layers.{layer}.attn.linear_qkv", hidden).split(WIDTH, dim=1)
        heads = []
        for start in range(0, WIDTH, head):
            part = slice(start, start + head)
            heads.append(torch.softmax(query[:, part] @ key[:, part].T / head**0.5, dim=1) @ value[:, part])
        attended = dense(f"layers.{layer}.attn.linear_out", torch.cat(heads, dim=1))
        hidden = norm(f"layers.{layer}.attn_norm", attended + hidden)
        inner = gelu(dense(f"layers.{layer}.ff.linear_hidden.0", hidden))
        hidden = norm(f"layers.{layer}.ff_norm", dense(f"layers.{layer}.ff.linear_out", inner) + hidden)
    return hidden


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=True).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def plato(tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plato")
    torch.save(checkpoint(), folder / "PLATO.pt")
    convert_plato(folder / "PLATO.pt", folder / "encoder", tokenizer, heads=HEADS)
    return folder / "encoder"


@pytest.mark.parametrize("turns", [4, 20])
def test_a_converted_checkpoint_computes_what_plato_does(plato, turns) -> None:
    encoder = turnlens.load_encoder(plato, device="cpu").eval()
    talk = [TALK[0], TALK[1]] * 8 + TALK if turns == 20 else TALK
    rows = padded(Renderer(encoder, 512).rows([talk]))
    with torch.no_grad():
        further = {"turn": rows.turn, "speaker": rows.speaker}
        (piece,) = encode_sliced(encoder, rows.input_ids, rows.attention_mask, further=further)
    expected = literal(checkpoint(), talk)
    assert piece.tokens.shape[1] == len(expected) == {4: 11, 20: 51}[turns]  # no token before the first turn
    assert_same_vectors(piece.tokens[0], expected)


def test_embeddings_of_dialogues_are_means_of_those_states(plato) -> None:
    encoder = turnlens.load_encoder(plato, device="cpu")
    states = literal(checkpoint(), TALK)
    bot = torch.tensor([True, True, *[False] * 3, *[True] * 6])
    expected = states[bot].mean(0) + states[~bot].mean(0)
    vectors = encoder.encode_conversations([TALK], pooling="interlocutor")
    assert_same_vectors(vectors[0], expected)


def test_the_stock_loader_renders_the_same_tokens(plato) -> None:
    encoder = SentenceTransformer(str(plato), device="cpu")
    ids = encoder.preprocess([TALK])["input_ids"]
    assert ids.tolist() == padded(Renderer(encoder).rows([TALK])).input_ids.tolist()
    assert encoder.tokenizer.cls_token is None
    assert encoder.preprocess(["hello pizza"])["input_ids"].tolist() == [[7, 9, 2]]


def test_a_trained_checkpoint_and_a_safetensors_file_are_read_as_well(plato, tokenizer, tmp_path) -> None:
    weights = checkpoint()
    torch.save({f"module.bert.{name}": tensor for name, tensor in weights.items()}, tmp_path / "best_model.pkl")
    save_file(weights, tmp_path / "plato.safetensors")
    expected = turnlens.load_encoder(plato, device="cpu").encode_conversations([TALK])
    for number, name in enumerate(("best_model.pkl", "plato.safetensors")):
        convert_plato(tmp_path / name, tmp_path / f"encoder-{number}", tokenizer, heads=HEADS)
        vectors = turnlens.load_encoder(tmp_path / f"encoder-{number}", device="cpu").encode_conversations([TALK])
        assert_same_vectors(vectors, expected)


def test_as_in_the_released_code_only_the_upper_layers_learn(plato) -> None:
    encoder = turnlens.load_encoder(plato, device="cpu")
    recipe = Dial2vec(turn_inputs=True)
    recipe.prepare(encoder)
    assert recipe.arguments(encoder) == {}
    with frozen_lower_layers(encoder, 1):
        learning = {name for name, parameter in encoder.named_parameters() if parameter.requires_grad}
    layers = {name.split("encoder.layer.")[-1].split(".")[0] for name in learning if "pooler" not in name}
    assert layers == {"1", "2"}
    tables = turn_tables_of(encoder)
    assert tables is not None
    assert all(parameter.requires_grad for parameter in tables.parameters())


def test_preparing_for_training_keeps_what_plato_reads(plato) -> None:
    encoder = turnlens.load_encoder(plato, device="cpu")
    before = padded(Renderer(encoder).rows([TALK]))
    Dial2vec(turn_inputs=True).prepare(encoder)
    assert torch.equal(padded(Renderer(encoder).rows([TALK])).input_ids, before.input_ids)


class Malicious:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("code was run",)


def test_what_is_no_plato_checkpoint_is_named(tokenizer, tmp_path, capsys) -> None:
    def convert(weights: object, **options: object) -> None:
        torch.save(weights, tmp_path / "x.pt")
        convert_plato(tmp_path / "x.pt", tmp_path / "out", **{"tokenizer": tokenizer, "heads": HEADS, **options})

    with pytest.raises(FileNotFoundError, match=r"such as PLATO\.pt"):
        convert_plato(tmp_path / "none.pt", tmp_path / "out", tokenizer)
    with pytest.raises(ValueError, match="could run code"):
        convert({"embedder.token_embedding.weight": Malicious()})
    assert "code was run" not in capsys.readouterr().out
    with pytest.raises(ValueError, match="expected tensors by name, got list"):
        convert([torch.ones(2)])
    with pytest.raises(ValueError, match=r"expected tensors named embedder\.token_embedding\.weight.*got other"):
        convert({"other": torch.ones(2)})
    without = {name: tensor for name, tensor in checkpoint().items() if "layers.1.attn.linear_out" not in name}
    with pytest.raises(ValueError, match=r"layers\.1\.attn\.linear_out\.weight"):
        convert(without)
    wrong = {**checkpoint(), "layers.2.ff.linear_out.weight": torch.ones(WIDTH, 7)}
    with pytest.raises(ValueError, match="do not make up a PLATO model"):
        convert(wrong)
    with pytest.raises(ValueError, match="heads must divide the width of 32, got 5"):
        convert(checkpoint(), heads=5)
    with pytest.raises(ValueError, match=r"expected \[unused1\] among at most 20 tokens"):
        convert({**checkpoint(), "embedder.token_embedding.weight": torch.ones(20, WIDTH)})
    with pytest.raises(ValueError, match="cannot load the tokenizer"):
        convert(checkpoint(), tokenizer=tmp_path / "nowhere")
    assert not (tmp_path / "out").exists()


def test_the_command(tokenizer, tmp_path) -> None:
    weights = checkpoint()
    torch.save(weights, tmp_path / "PLATO.pt")
    arguments = ["papers", "convert-plato", str(tmp_path / "PLATO.pt"), "--tokenizer", str(tokenizer)]
    result = CliRunner().invoke(app, [*arguments, "--output", str(tmp_path / "plato")])
    assert result.exit_code == 0, result.output
    assert turn_tables_of(turnlens.load_encoder(tmp_path / "plato", device="cpu")) is not None


def test_training_as_published(plato, tmp_path) -> None:
    settings = {"max_steps": 3, "gradient_accumulation_steps": 1, "negatives_per_dialogue": 2}
    recipe = get_recipe("dial2vec", settings=settings, preset="paper")
    corpus = turnlens.sample_conversations(8, seed=1).select_columns(["id", "messages"])
    trained = turnlens.train(corpus, method=recipe, encoder=plato, output=tmp_path / "model")
    before, after = (turnlens.load_encoder(path, device="cpu").state_dict() for path in (plato, tmp_path / "model"))
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert {name.split("encoder.layer.")[-1].split(".")[0] for name in changed} == {"1", "2"}
    assert_same_vectors(
        turnlens.load_encoder(tmp_path / "model", device="cpu").encode_conversations([TALK]),
        trained.encode_conversations([TALK]),
    )
