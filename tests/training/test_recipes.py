from __future__ import annotations

from dataclasses import asdict

import pytest

import turnwise
from turnwise.cli.options import parse_settings
from turnwise.experiments.runner import run_suite
from turnwise.losses import C3LSettings, DialogueCSESettings
from turnwise.losses.base import ConversationLoss
from turnwise.training.recipes import (
    C3L,
    CCL,
    RECIPES,
    Adaptation,
    Dial2vec,
    DialogueCSE,
    Recipe,
    Siamese,
    get_recipe,
    read_recipe,
)


def test_the_papers_settings() -> None:
    recipe = RECIPES["dialogue-cse-paper"]
    assert isinstance(recipe, DialogueCSE)
    assert (recipe.learning_rate, recipe.context_turns, recipe.temperature) == (5e-5, 3, 0.1)
    assert (recipe.unit, recipe.batch_size, recipe.negatives, recipe.negatives_from) == ("sample", 20, 9, "corpus")
    stage = recipe.adaptation
    assert stage is not None
    assert (stage.epochs, stage.mask_probability, stage.learning_rate) == (0.5, 0.15, 2e-5)
    assert (stage.batch_size, stage.max_predictions, stage.max_length) == (50, 10, 50)


def test_the_settings_of_dial2vec() -> None:
    recipe = RECIPES["dial2vec-paper"]
    assert isinstance(recipe, Dial2vec)
    assert (recipe.learning_rate, recipe.temperature, recipe.window, recipe.max_length) == (1e-5, 0.2, 10, 512)
    assert recipe.batch_size * recipe.gradient_accumulation_steps == 5 * 4
    assert recipe.negatives_per_dialogue + 1 == 10
    assert recipe.interpolation == 1  # off
    assert recipe.turn_inputs


@pytest.mark.parametrize(("method", "batch_size", "examples"), [("ccl", 4, 12), ("c3l", 3, 18)])
def test_the_papers_settings_of_turn_order(method, batch_size, examples) -> None:
    recipe, ours = RECIPES[f"{method}-paper"], RECIPES[method]
    assert type(recipe) is type(ours)
    assert (recipe.learning_rate, recipe.weight_decay, recipe.window, recipe.epochs) == (2e-5, 0.01, 5, 10)
    assert (recipe.negatives, recipe.negatives_from, recipe.unit) == (1, "corpus", "window")
    assert recipe.learn_words and recipe.token_order == "published" and recipe.nli is not None
    assert recipe.batch_size == batch_size and abs(batch_size * examples - 48) <= 6
    assert recipe.nli_pairs * batch_size == 48


def test_settings_change_a_recipe_and_nothing_else() -> None:
    recipe = get_recipe("dialogue-cse", {"temperature": 0.05, "adaptation": {"epochs": 1.0}})
    assert recipe == DialogueCSE(temperature=0.05, adaptation=Adaptation(epochs=1.0))
    assert RECIPES["dialogue-cse"] == DialogueCSE()


def test_every_recipe_is_exported() -> None:
    for recipe in RECIPES.values():
        name = type(recipe).__name__
        assert getattr(turnwise.recipes, name) is type(recipe)
        assert name in turnwise.recipes.__all__


def test_a_recipe_file(tmp_path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('method = "siamese-multi"\nseed = 3\n[adaptation]\nmax_steps = 5\n')
    assert get_recipe(*read_recipe(path)) == Siamese(context="multi", seed=3, adaptation=Adaptation(max_steps=5))


@pytest.mark.parametrize(
    ("text", "message"),
    [("method = ", "not a TOML recipe"), ("seed = 1", "expected a line method"), ('method = "x"', "expected a line")],
)
def test_bad_recipe_files_are_named(tmp_path, text, message) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"recipe\.toml.*{message}"):
        read_recipe(path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temprature": 0.1}, "no setting 'temprature'"),
        ({"adaptation": {"epoch": 1}}, "adaptation has no setting 'epoch'"),
        ({"learning_rate": 0}, "learning_rate must be a positive number"),
        ({"learning_rate": "fast"}, "learning_rate must be a number, got 'fast'"),
        ({"learning_rate": float("inf")}, "learning_rate must be a positive number"),
        ({"learning_rate": True}, "learning_rate must be a number"),
        ({"bf16": "False"}, "bf16 must be true or false or 'forced', got 'False'"),
        ({"frozen_layers": 1.5}, "frozen_layers must be a whole number"),
        ({"aggregation": "sum"}, "aggregation must be 'mean' or 'attention', got 'sum'"),
        ({"adaptation": True}, "adaptation must be"),
        ({"seed": -1}, "seed must be"),
        ({"max_steps": 1.5}, "max_steps must be a whole number"),
        ({"batch_size": 1}, "batch_size must be at least 2"),
        ({"min_turns": 1}, "min_turns must be at least 2"),
        ({"frozen_layers": -1}, "frozen_layers"),
        ({"negatives": "some"}, "negatives must be 'batch'"),
        ({"negatives_from": "corpus"}, "needs a number of negatives, such as negatives=9"),
        ({"unit": "sample"}, "unit='sample' needs negatives_from='corpus'"),
        ({"same_role": True}, "same_role=true needs negatives_from='corpus'"),
        ({"adaptation": {"mask_probability": 1.0}}, "mask_probability"),
        ({"adaptation": {"max_predictions": 0}}, "max_predictions"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        get_recipe("dialogue-cse", settings)


def test_unknown_method_lists_the_known() -> None:
    with pytest.raises(ValueError, match="expected one of dialogue-cse, "):
        get_recipe("dialog-cse")


def test_turn_order_settings() -> None:
    recipe = get_recipe("c3l", {"curved": False, "directional": True, "positives": "bi", "ccl_first": False})
    assert recipe == C3L(curved=False, directional=True, positives="bi", ccl_first=False)
    assert get_recipe("ccl", {"window": 7}).shortest == 7
    assert get_recipe("ccl", {"min_turns": 9}).shortest == 9


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("c3l", {"window": 2}, "window must be at least 3 utterances"),
        ("ccl", {"window": 1}, "window must be at least 2 utterances"),
        ("c3l", {"positives": "both"}, "positives must be 'triple' or 'bi'"),
        ("ccl", {"negatives": "some"}, "negatives must be"),
        ("ccl", {"token_learning_rate": 0}, "token_learning_rate must be a positive number"),
        ("ccl", {"weight_decay": -1}, "weight_decay must be"),
        ("ccl", {"negatives_from": "corpus"}, "needs a number of negatives, such as negatives=1, got 'batch'"),
        ("ccl", {"unit": "window"}, "unit='window' needs negatives_from='corpus'"),
        ("c3l", {"learn_words": True, "frozen_layers": 2}, "learn_words needs frozen_layers=0, got 2"),
        ("c3l", {"nli_pairs": 0}, "nli_pairs must be a positive number"),
    ],
)
def test_bad_turn_order_settings_are_errors(method, settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        get_recipe(method, settings)


def test_c3l_trains_with_ccl_first_unless_the_encoder_has_views(tiny_encoder) -> None:
    recipe = C3L(speakers=False, window=6, max_steps=7)
    assert recipe.stage_before(tiny_encoder) == CCL(speakers=False, window=6, max_steps=7)
    assert C3L(ccl_first=False).stage_before(tiny_encoder) is None
    CCL().prepare(tiny_encoder)
    assert recipe.stage_before(tiny_encoder) is None


@pytest.mark.parametrize("method", [name for name, recipe in RECIPES.items() if isinstance(recipe, Recipe)])
def test_a_recipe_gives_its_loss_all_its_settings(method, tiny_encoder, conversations) -> None:
    recipe = RECIPES[method]
    assert isinstance(recipe, Recipe)
    if type(recipe).loss is Recipe.loss:  # it is made of the data as well
        loss = recipe.inputs(tiny_encoder, conversations)["loss"]
    else:
        loss = recipe.loss(tiny_encoder)
    assert isinstance(loss, ConversationLoss)
    assert loss.settings == type(loss.settings).of(recipe)
    assert loss.get_config_dict() == asdict(loss.settings)
    assert loss.get_config_dict().items() <= asdict(recipe).items()


def test_defaults_of_a_recipe_may_differ_from_those_of_its_loss() -> None:
    assert (C3L().negatives, CCL().negatives, C3LSettings().negatives) == ("batch", "batch", 1)
    assert (C3L().directional, CCL().directional) == (False, True)
    assert DialogueCSESettings.of(DialogueCSE()) == DialogueCSESettings()


def test_former_names_of_settings_are_read_with_a_warning(tmp_path, caplog) -> None:
    former = {"accumulate": 3, "trained_share": 0.25, "adaptation": {"accumulate": 2}}
    expected = Dial2vec(
        gradient_accumulation_steps=3, interpolation=0.25, adaptation=Adaptation(gradient_accumulation_steps=2)
    )
    assert get_recipe("dial2vec", former) == expected
    names = (
        "'accumulate' is now called 'gradient_accumulation_steps'",
        "'trained_share' is now called 'interpolation'",
    )
    assert [record.getMessage() for record in caplog.records] == [
        f"the setting {text}" for text in (names[0], names[0], names[1])
    ]

    caplog.clear()
    path = tmp_path / "recipe.toml"
    path.write_text('method = "dial2vec"\naccumulate = 3\ntrained_share = 0.25\n[adaptation]\naccumulate = 2\n')
    method, settings = read_recipe(path)
    assert get_recipe(method, settings) == expected
    assert len(caplog.records) == 3
    # What the command line sets counts more than the file, whatever name the file has for it.
    settings |= parse_settings(["interpolation=0.5"])
    assert get_recipe(method, settings).interpolation == 0.5

    caplog.clear()
    assert get_recipe("dialogue-cse", parse_settings(["accumulate=4"])) == DialogueCSE(gradient_accumulation_steps=4)
    with pytest.raises(ValueError, match="gradient_accumulation_steps must be a positive number, got 0"):
        run_suite("dialoguecse", settings=parse_settings(["accumulate=0"]))
    assert [names[0] in record.getMessage() for record in caplog.records] == [True, True]


def test_a_former_and_a_current_name_at_once_are_refused() -> None:
    with pytest.raises(ValueError, match="'trained_share' is the former name of 'interpolation', got both"):
        get_recipe("dial2vec", {"trained_share": 0.5, "interpolation": 1.0})
