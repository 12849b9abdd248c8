from pathlib import Path

import numpy as np
import pytest

from turnlens.errors import ConversationError
from turnlens.papers.dialogue_cse.dialogue_sts import StsTask, evaluate_sts, read_sts_task


def sts_file(folder: Path, *lines: str) -> Path:
    path = folder / "sts.txt"
    path.write_text("".join(line.replace("|", "\t") + "\n" for line in lines), encoding="utf-8")
    return path


def by_angle(texts: list[str]) -> np.ndarray:
    radians = np.deg2rad([float(text) for text in texts])
    return np.stack([np.cos(radians), np.sin(radians)], axis=1)


def test_the_released_format(tmp_path: Path) -> None:
    task = read_sts_task(sts_file(tmp_path, "5|when does it ship|when will you send it", "1.5|hello|再见"))
    assert task == StsTask((5.0, 1.5), (("when does it ship", "when will you send it"), ("hello", "再见")))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("5|a|b", "4|a"), "sts.txt:2: expected 3 tab-separated columns .score, text, text., got 2"),
        (("5|a|b", "|a|c"), "sts.txt:2: the score is empty: every pair must be annotated$"),
        (("five|a|b",), "sts.txt:1: the score must be a number, or several separated by spaces, got 'five'"),
        (("3,5|a|b",), "sts.txt:1: the score must be a number.*got '3,5'"),
        (("4 x|a|b",), "sts.txt:1: the score must be a number.*got '4 x'"),
        (("nan|a|b",), "sts.txt:1: the score must be a number.*got 'nan'"),
        (("5|a| ",), "sts.txt:1: a text is empty"),
        (("5|a|b", "5|c|d"), "sts.txt: at least two different scores are needed for a correlation, got 2 lines of 5"),
        ((), "sts.txt: the file is empty"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConversationError, match=message):
        read_sts_task(sts_file(tmp_path, *lines))


def test_of_several_annotators_the_median_counts(tmp_path: Path) -> None:
    (tmp_path / "sts.txt").write_text("5 1 4\ta\tb\n2;3\tc\td\n1\te\tf\n")
    assert read_sts_task(tmp_path / "sts.txt").scores == (4, 2.5, 1)


def test_correlation_by_hand() -> None:
    # Angles between the pairs: 10, 30, 20, 170 degrees; ranks of the cosines 4, 2, 3, 1 against 4, 3, 2, 1.
    task = StsTask((5, 4, 3, 1), (("0", "10"), ("0", "30"), ("50", "70"), ("0", "170")))
    result = evaluate_sts(by_angle, task)
    assert result.cosines == pytest.approx(np.cos(np.deg2rad([10, 30, 20, 170])))
    assert result.spearman == pytest.approx(100 * (1 - 6 * 2 / (4 * 15)))
    low, high = result.spearman_interval
    assert -100 <= low <= result.spearman <= high <= 100 + 1e-9
    assert result.summary() == {"spearman": result.spearman, "spearman_interval": [low, high], "pairs": 4}


def test_a_constant_encoder_scores_zero() -> None:
    task = StsTask((5, 4, 1), (("a", "b"), ("c", "d"), ("e", "f")))
    constant = np.random.default_rng(0).normal(size=384)
    result = evaluate_sts(lambda texts: np.tile(constant, (len(texts), 1)), task)
    assert result.spearman == 0.0 and result.spearman_interval == (0.0, 0.0)
