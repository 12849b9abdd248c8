import shutil

import pytest

from .command_line import fail, run, succeed


@pytest.mark.slow
def test_plots_of_dialogues(chats, tiny_encoder_path, tmp_path, monkeypatch) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "picture.png"
    assert "Wrote" in succeed(
        "papers", "plot", "interactions", chats, "--model", tiny_encoder_path, "--output", picture
    )
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "found no conversation 'nobody'" in fail(
        "papers", "plot", "interactions", chats, "--conversation", "nobody", "--output", picture, "--force"
    )
    # Two models of one name are two points.
    points: dict[str, object] = {}
    monkeypatch.setattr(
        "turnlens.papers.dial2vec.plots.plot_alignment_uniformity", lambda found, output: points.update(found)
    )
    copies = [shutil.copytree(tiny_encoder_path, tmp_path / name / "model") for name in "ab"]
    arguments = [part for copy in copies for part in ("--model", copy)]
    succeed("papers", "plot", "alignment-uniformity", chats, *arguments, "--output", tmp_path / "moves.png")
    assert list(points) == [str(copy) for copy in copies]


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "begins"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("jpg", None)])
def test_the_ending_says_how_a_plot_is_written(ending, begins, chats, tiny_encoder_path, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / f"picture.{ending}"
    result = run("papers", "plot", "interactions", chats, "--model", tiny_encoder_path, "--output", picture)
    if begins is None:
        assert result.exit_code == 1 and "expected a name ending in .png, .svg, .pdf" in result.output
    else:
        assert picture.read_bytes().startswith(begins)


def test_a_story_of_one_speaker_has_no_interactions(tmp_path) -> None:
    story = tmp_path / "story.jsonl"
    story.write_text(
        '{"messages": [{"role": "narrator", "content": "once"}, {"role": "narrator", "content": "twice"}]}\n'
    )
    assert "found no conversation of two speakers" in fail(
        "papers", "plot", "interactions", story, "--output", tmp_path / "picture.png"
    )
