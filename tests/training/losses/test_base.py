from dataclasses import FrozenInstanceError

import pytest

from turnlens import papers
from turnlens.training.run import loss_parameters

LOSSES = [
    getattr(papers, name)
    for name in papers.__all__
    if name.endswith("Loss") and getattr(getattr(papers, name), "citation", "")  # one is of no paper
]


def test_there_are_six() -> None:
    assert len(LOSSES) == 6


@pytest.mark.parametrize("loss", LOSSES)
def test_the_model_card_gets_settings_and_citation(loss, tiny_encoder) -> None:
    assert loss.citation.startswith("@inproceedings{")
    assert loss.citation.count("{") == loss.citation.count("}")
    made = loss(tiny_encoder)
    assert made.get_config_dict() == vars(made.settings)
    assert type(made.settings)() == made.settings
    with pytest.raises(FrozenInstanceError):
        made.settings.negatives = 3


@pytest.mark.parametrize("loss", LOSSES)
def test_parameters_that_are_not_the_encoders_have_other_names(loss, tiny_encoder) -> None:
    class Trainer:
        loss: object

    trainer = Trainer()
    trainer.loss = loss(tiny_encoder)
    own = {name.partition(".")[0] for name in loss_parameters(trainer)}
    assert own == {papers.SiameseLoss: {"response_network"}}.get(loss, set())


def test_the_scorer_of_attention_is_the_losss_own(tiny_encoder) -> None:
    settings = papers.DialogueCSESettings(aggregation="attention")
    names = {name for name, _ in papers.DialogueCSELoss(tiny_encoder, settings).named_parameters()}
    own = {name for name in names if not name.startswith("model.")}
    assert own == {f"turn_scorer.{layer}.{kind}" for layer in (0, 2) for kind in ("weight", "bias")}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (lambda: papers.CCLSettings(window=2.5), "window must be a whole number, got 2.5"),
        (lambda: papers.DialogueCSESettings(negatives=True), "negatives must be 'batch' or a whole number, got True"),
        (lambda: papers.Dial2vecSettings(temperature="warm"), "temperature must be a number, got 'warm'"),
        (lambda: papers.SingleVectorSettings(temperature=float("nan")), "temperature must be a positive number"),
    ],
)
def test_settings_of_other_types_are_refused(settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        settings()
