"""The commands of `turnlens papers`: tables of the papers, planning, plots, and PLATO as an encoder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from turnlens._utils.progress import note
from turnlens.cli.options import (
    ConversationFile,
    OptionalOutput,
    Output,
    Reading,
    Top,
    parse_settings,
    reads_conversations,
)
from turnlens.cli.reply import messages_to_continue, read_candidates, show_ranking
from turnlens.cli.tables import check_json
from turnlens.cli.terminal import Application
from turnlens.papers.experiments import DATA_SETS, check_data_sets

_LONGEST_GENERATED = 40  # tokens; kept short, since somebody is waiting
Models = Annotated[list[str], typer.Option("--model")]
Picture = Annotated[Path, typer.Option("--output", "-o", help="The .png, .svg or .pdf file to write.")]

app = Application(no_args_is_help=True, rich_markup_mode="markdown")
plot = Application(help="Draw plots as PNG, SVG or PDF; the ending of the file name decides.", no_args_is_help=True)
app.add_typer(plot, name="plot")


@app.command()
def bench(
    suite: Annotated[str, typer.Argument(help=f"The paper: {', '.join(DATA_SETS)}.")],
    data: Path | None = None,
    encoder: str | None = None,
    methods: list[str] | None = None,
    data_sets: list[str] | None = None,
    studies: bool = True,
    seeds: Annotated[int | None, typer.Option(min=1)] = None,
    out: Output = Path("report"),
    quick: bool = False,
    word_vectors: Annotated[Path | None, typer.Option(envvar="TURNLENS_WORD_VECTORS")] = None,
    generator: str | None = None,
    set: list[str] | None = None,
) -> None:
    """Train and evaluate the rows of a paper's tables, and write a report; finished rows are not run again.

    Rows, data sets and the files they need: docs/papers-evaluation.md#the-tables-of-the-papers.

    Example: `turnlens papers bench triple --data corpora --quick --output report`

    Options:
        data: Folder of the data sets; without it, the sample corpus alone is used.
        encoder: Encoder that all rows start from: a folder or a Hub name; by default all-MiniLM-L6-v2.
        methods: Row; give several by repeating the option or with commas. By default all.
        data_sets: Data set; give several by repeating the option or with commas. By default all.
        studies: Run the studies that try several values of one setting.
        seeds: Number of seeds; by default 3, and 1 with --quick.
        out: Folder of the results.
        quick: Use few steps and small samples, and run no studies.
        word_vectors: A text file of GloVe or word2vec vectors, for their row.
        generator: For short-term-planning: a causal language model that generates the candidates.
        set: A setting for every training, such as bf16=true; may be repeated.
    """
    if data is not None and not data.is_dir():
        raise ValueError(f"--data {data}: no such folder")
    if word_vectors is not None and not word_vectors.is_file():
        raise ValueError(f"--word-vectors {word_vectors}: no such file")
    chosen_methods, chosen_data = _separate(methods), _separate(data_sets)
    check_data_sets(chosen_data if suite in DATA_SETS else None, DATA_SETS.get(suite, ()))
    from turnlens.papers.experiments.runner import run_suite

    options: dict[str, Any] = {
        "data": data,
        "encoder": encoder,
        "methods": chosen_methods,
        "data_sets": chosen_data,
        "generator": generator,
        "seeds": seeds,
    }
    shown = {name: ",".join(value) if isinstance(value, list) else value for name, value in options.items() if value}
    command = f"turnlens papers bench {suite}"
    command += "".join(f" --{name.replace('_', '-')} {value}" for name, value in shown.items())
    command += ("" if studies else " --no-studies") + (" --quick" if quick else "")
    results = run_suite(
        suite,
        **options,
        out=out,
        quick=quick,
        word_vectors=str(word_vectors) if word_vectors is not None else None,
        settings=parse_settings(set or []),
        studies=studies,
        command=command + "".join(f" --set {setting}" for setting in set or []),
    )
    note(f"The tables are in {out / 'report.md'}, all figures in {out / 'results.json'}")
    if any(cell["status"] == "failed" for cell in results["cells"]):
        raise typer.Exit(1)


def _separate(names: list[str] | None) -> list[str]:
    return [name.strip() for part in names or [] for name in part.split(",") if name.strip()]


@app.command()
@reads_conversations
def plan(
    model: Annotated[str, typer.Argument(help="A folder or a Hub name.")],
    conversation: ConversationFile,
    goal: Annotated[str, typer.Option("--goal")],
    candidates: Path | None = None,
    generator: str | None = None,
    number: Annotated[int, typer.Option(min=1)] = 100,
    id: str | None = None,
    top: Top = 10,
    speaker: str | None = None,
    goal_speaker: str | None = None,
    seed: int = 0,
    json_file: OptionalOutput = None,
    force: bool = False,
    *,
    reading: Reading,
) -> None:
    """Rank candidates, given or generated, for the next message by how well they lead to a goal.

    Example: `turnlens papers plan model --conversation chat.jsonl --goal "It is booked." --candidates replies.txt`

    Options:
        goal: What should be said a few turns later.
        generator: A causal language model that generates the candidates instead: a folder or a Hub name.
        number: Number of candidates to generate.
        goal_speaker: Who says the goal; by default whoever speaks next.
    """
    from turnlens.encoders.loading import load_sentence_transformer
    from turnlens.encoders.reply_model import ReplyModel, next_speaker
    from turnlens.papers.triple_encoders.planning import rank

    check_json(json_file, force)
    if (candidates is None) == (generator is None):
        raise ValueError(
            f"expected either --candidates or --generator, got {'neither' if generator is None else 'both'}"
        )
    messages = messages_to_continue(conversation, id, reading)
    reply_model = ReplyModel(load_sentence_transformer(model))
    who = speaker or next_speaker(messages)
    if candidates is not None:
        texts = read_candidates(candidates, reading.read)
    elif generator is not None:
        texts = _generate(generator, messages, number, who, seed)
    show_ranking(texts, rank(reply_model, messages, texts, goal, who, goal_speaker or who), top, json_file)


def _generate(generator: str, messages: list[dict[str, Any]], number: int, speaker: str | None, seed: int) -> list[str]:
    """Distinct messages that a causal language model generates."""
    from turnlens.papers.generation import generate_candidates

    generated = generate_candidates(
        generator, messages, number, speaker=speaker, seed=seed, top_k=0, max_tokens=_LONGEST_GENERATED
    )
    return list(dict.fromkeys(text for text in generated if text))


@app.command()
def convert_plato(checkpoint: Path, output: Output, tokenizer: str = "bert-base-uncased", force: bool = False) -> None:
    """Make an encoder from a PLATO checkpoint, from which the published dial2vec starts, or from a dial2vec checkpoint.

    Example: `turnlens papers convert-plato PLATO.pt --output plato`, then
    `turnlens train chats.jsonl --method dial2vec --set preset=paper --encoder plato --output model`

    Options:
        checkpoint: A checkpoint, such as PLATO.pt.
        tokenizer: The BERT tokenizer with its vocabulary: a folder or a Hub name.
    """
    from turnlens.papers.dial2vec.plato import convert_plato as convert

    convert(checkpoint, output, tokenizer, force=force)
    note(f"Wrote {output}")


@plot.command()
@reads_conversations
def interactions(
    data: list[Path],
    output: Picture,
    conversation: str | None = None,
    model: str | None = None,
    window: float = 10,
    dot_products: bool = False,
    force: bool = False,
    *,
    reading: Reading,
) -> None:
    """Show which words of one speaker match which words of the other in one conversation.

    Example: `turnlens papers plot interactions chats.jsonl --conversation c1 --model conversation-model --output
        c1.png`

    Options:
        conversation: Id of the conversation; by default the first with at least two speakers.
        window: Greatest distance between two turns that may match.
        dot_products: Use inner products, as in the paper, instead of cosines.
    """
    from turnlens.encoders.loading import load_sentence_transformer
    from turnlens.papers.dial2vec.plots import check_picture, plot_interactions

    check_picture(output, force)
    messages = _messages_to_draw(reading.read(data), conversation)
    plot_interactions(load_sentence_transformer(model), messages, output, window, dot_products)
    note(f"Wrote {output}")


@plot.command("alignment-uniformity")
@reads_conversations
def alignment_uniformity(
    data: Path,
    output: Picture,
    models: Models,
    conversation_label: str | None = None,
    force: bool = False,
    *,
    reading: Reading,
) -> None:
    """Show how the distribution of conversation embeddings moves from one model to the next.

    Example: `turnlens papers plot alignment-uniformity dev.jsonl --model start --model trained --output moves.png`

    Options:
        data: A file or folder of conversations.
        models: A folder or a Hub name; repeat it in the order of training.
    """
    from turnlens.encoders.loading import load_sentence_transformer
    from turnlens.evaluation import evaluate as run_evaluation
    from turnlens.papers.dial2vec.plots import check_picture, plot_alignment_uniformity

    check_picture(output, force)
    points = {}
    for model, name in _names(models).items():
        results = run_evaluation(
            data,
            encoder=load_sentence_transformer(model),
            tasks="alignment-uniformity",
            conversation_label=conversation_label,
            read=reading.read,
        )
        figures: Any = results["alignment_uniformity"]
        points[name] = (figures["adjusted_alignment"], figures["uniformity"])
    plot_alignment_uniformity(points, output)
    note(f"Wrote {output}")


@plot.command()
@reads_conversations
def additivity(
    data: Path,
    output: Picture,
    models: Models,
    turns: Annotated[int, typer.Option(min=2, max=14)] = 10,
    force: bool = False,
    *,
    reading: Reading,
) -> None:
    """Show how much each turn of a context points to the actual next message rather than to other messages.

    Example: `turnlens papers plot additivity test.jsonl --model ccl --model c3l --output additivity.png`

    Options:
        data: A file or folder of conversations.
        models: A folder or a Hub name; may be repeated.
        turns: Number of turns in each context.
    """
    from turnlens.encoders.loading import load_sentence_transformer
    from turnlens.evaluation import load_task
    from turnlens.papers.dial2vec.plots import check_picture, plot_additivity
    from turnlens.papers.next_message.sequences import EmbeddedSequences
    from turnlens.papers.triple_encoders.additivity import evaluate_additivity

    check_picture(output, force)
    sequences = load_task("additivity", data, read=reading.read)
    curves = {}
    for model, name in _names(models).items():
        result = evaluate_additivity(EmbeddedSequences(load_sentence_transformer(model), sequences), lengths=[turns])
        for mode, lengths in result.by_distance.items():
            curves[f"{name}, {mode}"] = lengths[turns].tolist()
    plot_additivity(curves, output)
    note(f"Wrote {output}")


def _messages_to_draw(rows: Iterable[dict[str, Any]], id: str | None) -> list[dict[str, Any]]:
    """The messages of the conversation with this id, by default of the first with at least two speakers."""
    for row in rows:
        messages: list[dict[str, Any]] = row["messages"]
        if row["id"] == id or (id is None and len({message["role"] for message in messages}) > 1):
            return messages
    raise ValueError(f"found no conversation {id!r}" if id is not None else "found no conversation of two speakers")


def _names(models: list[str]) -> dict[str, str]:
    """A name for each model: the last part of its path, or all of it where models share that."""
    names = {model: Path(model).name for model in models}
    return names if len(set(names.values())) == len(names) else {model: model for model in models}
