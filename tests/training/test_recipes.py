from dataclasses import asdict

import pytest

import turnlens
from turnlens._utils.registries import PUBLISHED
from turnlens.encoders.folders import BASE_ENCODER, DEFAULT_ENCODER
from turnlens.papers.adaptation import Adaptation
from turnlens.papers.baselines.dual_encoders import Siamese
from turnlens.papers.dial2vec.recipe import Dial2vec
from turnlens.papers.dialogue_cse.loss import DialogueCSESettings
from turnlens.papers.dialogue_cse.recipe import DialogueCSE, PublishedDialogueCSE
from turnlens.papers.triple_encoders.c3l import C3LSettings
from turnlens.papers.triple_encoders.recipe import C3L, CCL
from turnlens.training.losses.base import ConversationLoss
from turnlens.training.recipes import METHODS, EncoderRecipe, base, get_recipe, read_recipe


def test_the_papers_settings() -> None:
    recipe = get_recipe("dialogue-cse", preset="paper")
    assert isinstance(recipe, PublishedDialogueCSE)
    assert (recipe.learning_rate, recipe.context_turns, recipe.temperature) == (5e-5, 3, 0.1)
    assert (recipe.batch_size, recipe.negatives, recipe.turn_weights) == (20, 9, "tokens")
    stage = recipe.adaptation
    assert stage is not None
    assert (stage.epochs, stage.mask_probability, stage.learning_rate) == (0.5, 0.15, 2e-5)
    assert (stage.batch_size, stage.max_predictions, stage.max_length) == (50, 10, 50)


def test_the_settings_of_dial2vec() -> None:
    recipe = get_recipe("dial2vec", preset="paper")
    assert isinstance(recipe, Dial2vec)
    assert (recipe.learning_rate, recipe.temperature, recipe.window, recipe.max_length) == (1e-5, 0.2, 10, 512)
    assert recipe.batch_size * recipe.gradient_accumulation_steps == 5 * 4
    assert recipe.negatives_per_dialogue + 1 == 10
    assert recipe.interpolation == 1  # off
    assert recipe.turn_inputs


@pytest.mark.parametrize(("method", "batch_size", "examples"), [("ccl", 4, 12), ("c3l", 3, 18)])
def test_the_papers_settings_of_turn_order(method, batch_size, examples) -> None:
    recipe = get_recipe(method, preset="paper")
    assert isinstance(recipe, METHODS[method])
    assert (recipe.learning_rate, recipe.weight_decay, recipe.window, recipe.epochs) == (2e-5, 0.01, 5, 10)
    assert (recipe.negatives, recipe.token_order) == (1, "published")
    assert recipe.batch_size == batch_size and abs(batch_size * examples - 48) <= 6
    assert recipe.nli_pairs * batch_size == 48


def test_settings_change_a_recipe_and_nothing_else() -> None:
    recipe = get_recipe("dialogue-cse", settings={"temperature": 0.05, "adaptation": {"epochs": 1.0}})
    assert recipe == DialogueCSE(temperature=0.05, adaptation=Adaptation(epochs=1.0))
    assert get_recipe("dialogue-cse") == DialogueCSE()


def test_a_recipe_that_is_no_dataclass_is_refused(monkeypatch) -> None:
    class Undecorated(DialogueCSE):
        temperature = 0.2  # which __init__ of the class it extends would not see

    monkeypatch.setattr(base, "METHODS", {"dialogue-cse": Undecorated})
    with pytest.raises(ValueError, match=r"put @dataclass\(frozen=True\) before .*Undecorated"):
        get_recipe("dialogue-cse")


def test_paper_presets_start_from_the_published_encoder() -> None:
    assert {recipe.starts_from for recipe in PUBLISHED.values()} == {BASE_ENCODER}
    assert {recipe.starts_from for recipe in METHODS.values()} == {DEFAULT_ENCODER}


def test_every_recipe_is_exported() -> None:
    for recipe in [*METHODS.values(), *PUBLISHED.values()]:
        offered = turnlens.papers if ".papers." in recipe.__module__ else turnlens.training.recipes
        assert getattr(offered, recipe.__name__) is recipe


def of_file(path) -> object:
    method, settings, preset = read_recipe(path)
    return get_recipe(method, settings=settings, preset=preset)


def test_a_recipe_file(tmp_path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('method = "siamese"\ncontext = "multi"\nseed = 3\n[adaptation]\nmax_steps = 5\n')
    assert of_file(path) == Siamese(context="multi", seed=3, adaptation=Adaptation(max_steps=5))


@pytest.mark.parametrize(
    ("text", "message"),
    [("method = ", "not a TOML recipe"), ("seed = 1", "expected a line method"), ('method = "x"', "expected a line")],
)
def test_bad_recipe_files_are_named(tmp_path, text, message) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"recipe\.toml.*{message}"):
        read_recipe(path)


def test_unknown_method_lists_the_known() -> None:
    with pytest.raises(ValueError, match="expected one of complete, "):
        get_recipe("dialog-cse")


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("dialogue-cse", {"negatives": "batch"}, "negatives must be a number, such as 9"),
        ("ccl", {"negatives": "batch"}, "negatives must be a number, such as 1"),
        ("c3l", {"frozen_layers": 2}, "frozen_layers must be 0, got 2"),
    ],
)
def test_what_the_papers_settings_rule_out_is_refused(method, settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        get_recipe(method, settings=settings, preset="paper")


@pytest.mark.parametrize(("method", "preset"), [("siamese", "paper"), ("c3l", "ours")])
def test_an_unknown_preset_is_refused(method, preset) -> None:
    with pytest.raises(ValueError, match=f"{method} has no preset '{preset}': there is 'paper', of dialogue-cse, "):
        get_recipe(method, preset=preset)


def test_a_recipe_file_may_start_from_the_papers_settings(tmp_path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('method = "c3l"\npreset = "paper"\nnli = "mine.tsv"\n')
    assert of_file(path) == get_recipe("c3l", settings={"nli": "mine.tsv"}, preset="paper")


def test_turn_order_settings() -> None:
    recipe = get_recipe("c3l", settings={"curved": False, "directional": True, "positives": "bi", "ccl_first": False})
    assert recipe == C3L(curved=False, directional=True, positives="bi", ccl_first=False)
    assert get_recipe("ccl", settings={"window": 7}).shortest == 7
    assert get_recipe("ccl", settings={"min_turns": 9}).shortest == 9


def test_c3l_trains_ccl_first_without_views(tiny_encoder) -> None:
    recipe = C3L(speakers=False, window=6, max_steps=7)
    assert recipe.stage_before(tiny_encoder) == CCL(speakers=False, window=6, max_steps=7)
    assert C3L(ccl_first=False).stage_before(tiny_encoder) is None
    CCL().prepare(tiny_encoder)
    assert recipe.stage_before(tiny_encoder) is None


@pytest.mark.parametrize("method", [name for name, recipe in METHODS.items() if issubclass(recipe, EncoderRecipe)])
def test_a_recipe_gives_its_loss_all_its_settings(method, tiny_encoder, conversations) -> None:
    recipe = get_recipe(method)
    assert isinstance(recipe, EncoderRecipe)
    recipe.prepare(tiny_encoder)
    loss = recipe.inputs(tiny_encoder, conversations)["loss"]
    assert isinstance(loss, ConversationLoss)
    assert loss.settings == type(loss.settings).of(recipe)
    assert loss.get_config_dict() == asdict(loss.settings)
    assert loss.get_config_dict().items() <= asdict(recipe).items()


def test_recipes_may_change_defaults_of_their_loss() -> None:
    assert (C3L().negatives, CCL().negatives, C3LSettings().negatives) == ("batch", "batch", 1)
    assert (C3L().directional, CCL().directional) == (False, True)
    assert DialogueCSESettings.of(DialogueCSE()) == DialogueCSESettings()


def test_settings_and_preset_need_a_method_name() -> None:
    for given in ({"settings": {"max_steps": 1}}, {"preset": "paper"}):
        with pytest.raises(ValueError, match="got a DialogueCSE, which has its settings"):
            turnlens.train([], method=DialogueCSE(), **given)
