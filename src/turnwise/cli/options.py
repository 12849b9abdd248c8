"""The arguments and options of the commands, and how their values are read."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import turnwise


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"turnwise {turnwise.__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and leave.")
]

# What is read
Data = Annotated[
    list[Path],
    typer.Argument(help="Files, folders or globs of conversations; - is the standard input.", show_default=False),
]
DataOrUrls = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders or globs of conversations, or URLs of them such as s3://…; - is the standard input.",
        show_default=False,
    ),
]
DataPath = Annotated[Path, typer.Argument(help="A file or folder of conversations.", show_default=False)]
OptionalData = Annotated[
    list[Path] | None,
    typer.Argument(help="Files, folders or globs of conversations to compare on.", show_default=False),
]
Format = Annotated[str, typer.Option(help="Source format; by default detected from the content.")]
SkipBadRows = Annotated[bool, typer.Option("--skip-bad-rows", help="Skip bad rows and list them at the end.")]
Split = Annotated[str | None, typer.Option(help="Only conversations whose label `split` is this, such as test.")]
ColumnNames = Annotated[
    str | None,
    typer.Option(
        "--columns",
        help="What the columns hold, such as conversation=ticket_id,speaker=author.type,text=body,time=created_at; "
        "also messages=… (a list of them in each record) and ignore=….",
    ),
]
RedactedKinds = Annotated[
    str | None,
    typer.Option(
        "--redact",
        help="Replace personal data on reading: emails, phones, cards, ibans, urls, ips or all of them, names=FILE, "
        "persons=MODEL.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Encoding of texts, such as cp1252; by default UTF-8, or else what their letters show."),
]
SplitBy = Annotated[
    str | None, typer.Option(help="Split conversations, such as one long chat: by day, or at a pause such as 6h.")
]
Encoder = Annotated[str | None, typer.Option(help="Encoder to start from: a folder or a Hub name.")]
Model = Annotated[str | None, typer.Option(help="A folder or a Hub name; if left out, the default encoder.")]
ModelArgument = Annotated[str, typer.Argument(help="A folder or a Hub name.", show_default=False)]
ModelAndData = Annotated[
    list[str],
    typer.Argument(
        metavar="[MODEL] DATA",
        help="The model, a folder or a Hub name (if left out, the default encoder), and the data.",
    ),
]

# What is written
OutputFolder = Annotated[Path, typer.Option("--output", "-o", help="Folder to write the model to.")]
ChatFile = Annotated[
    Path,
    typer.Option(
        "--out", "--output", "-o", help="The .jsonl or .jsonl.gz file to write, or - for the standard output."
    ),
]
Vectors = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        help="The .parquet, .csv or .npy file to write, or - for the standard output; a name without ending, or a URL, "
        "is a folder of Parquet parts.",
    ),
]
Picture = Annotated[Path, typer.Option("--output", "-o", help="The .png, .svg or .pdf file to write.")]
FiguresFile = Annotated[
    Path | None,
    typer.Option(
        "--json", "--output", "-o", help="Also write the figures to this JSON file; - is the standard output."
    ),
]
SummaryFile = Annotated[
    Path | None,
    typer.Option("--json", "--output", "-o", help="Also write all counts to this JSON file; - is the standard output."),
]
RankingFile = Annotated[
    Path | None,
    typer.Option(
        "--json",
        "--output",
        "-o",
        help="Also write the utterances and scores to this JSON file; - is the standard output.",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the unfinished run of this output.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output and discard its unfinished run.")]

# Distilling
DistilledTo = Annotated[Literal["static"], typer.Option("--to", help="What to make of the model.")]
ComparedTasks = Annotated[
    list[str] | None,
    typer.Option("--task", help="Task on labels to compare both on, may be repeated; by default none."),
]
DistilledDimensions = Annotated[int, typer.Option("--dimensions", min=1, help="Length of the static vectors.")]

# Centring
Stretch = Annotated[
    float,
    typer.Option(
        min=0, max=1, help="What power of its variance each principal component is multiplied by; 0 only centres."
    ),
]

DistillDialogues = Annotated[
    bool,
    typer.Option("--distill", help="Let dialogues pooled from messages learn to be alike as their joined texts are."),
]

# Training
Method = Annotated[
    str | None,
    typer.Option(
        help="in-context (messages), turn-order-head (next replies), or one of a paper's: dialogue-cse (the default), "
        "siamese, single-vector, dial2vec, ccl, c3l, local-to-global, unified."
    ),
]
Preset = Annotated[
    Literal["paper"] | None,
    typer.Option(help="The settings of the method's paper; by default ours, see docs/methods.md."),
]
RecipeFile = Annotated[Path | None, typer.Option(help="TOML file with the method and its settings.")]
Assignments = Annotated[list[str] | None, typer.Option("--set", help="Any setting, as name=value; may be repeated.")]
Epochs = Annotated[float | None, typer.Option(help="Number of passes over the data.")]
MaxSteps = Annotated[int | None, typer.Option(help="Number of steps, instead of whole epochs.")]
BatchSize = Annotated[int | None, typer.Option(help="Number of rows per batch.")]
LearningRate = Annotated[float | None, typer.Option(help="Peak learning rate.")]
SampleSize = Annotated[int, typer.Option(min=50, help="Number of conversations to generate.")]
DemoSteps = Annotated[int, typer.Option(min=1, help="Number of training steps.")]
Seed = Annotated[int, typer.Option(help="Seed for everything random.")]
RecipeSeed = Annotated[int | None, typer.Option(help="Seed for everything random.")]
Validation = Annotated[
    Path | None,
    typer.Option(help="Keep the best step on these conversations or this released file; by default the last step."),
]
ValidationTask = Annotated[
    str | None,
    typer.Option(
        "--task",
        help="Evaluation task to validate by; by default semantic-retrieval, for methods of whole dialogues "
        "dialogue-retrieval, for those of the order of turns next-utterance.",
    ),
]

# Embedding and evaluation
Level = Annotated[
    Literal["utterance", "utterance-with-history", "utterance-in-context", "dialogue"],
    typer.Option(
        help="One vector for each message, alone, with what was said before it, or with all that is said around it, "
        "or for each conversation."
    ),
]
Pooling = Annotated[
    str,
    typer.Option(help="How to pool whole conversations: mean, interlocutor, messages, or speaker:ROLE."),
]
Engine = Annotated[
    Literal["local", "ray"],
    typer.Option(help="For folders of parts: this process, or a Ray cluster (by default one on this machine)."),
]
TrainEngine = Annotated[
    Literal["local", "ray"],
    typer.Option(help="This process (or those of torchrun), or workers of a Ray cluster (by default on this machine)."),
]
WorkerCount = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Processes of Ray that train together; by default one for each GPU, or for four CPUs.",
        show_default=False,
    ),
]
ActorCount = Annotated[
    int | None,
    typer.Option(
        "--actors",
        min=1,
        help="Processes of Ray that embed; by default one for each GPU, or for four CPUs.",
        show_default=False,
    ),
]
Dtype = Annotated[
    Literal["bfloat16", "float16"] | None,
    typer.Option(help="Compute in half precision, several times faster on hardware made for it; by default in full."),
]
Cache = Annotated[
    bool,
    typer.Option(
        help="Keep the vectors of messages on disk, so that no text is embedded twice by a model; not for folders."
    ),
]
Tasks = Annotated[
    list[str] | None, typer.Option("--task", help="Evaluation task, may be repeated; by default semantic-retrieval.")
]
MaxQueries = Annotated[int | None, typer.Option(help="Evaluate at most this many random queries.")]
Label = Annotated[str, typer.Option(help="Message label that holds the intent.")]
ValidationLabel = Annotated[
    str | None, typer.Option("--label", help="Message label that holds the intent.", show_default="intent")
]
DialogueLabel = Annotated[str | None, typer.Option(help="Column that holds the label of each conversation.")]

# Plots
ConversationId = Annotated[
    str | None, typer.Option("--conversation", help="Its id; by default the first with at least two speakers.")
]
Window = Annotated[float, typer.Option(help="Turns further apart than this do not match.")]
DotProducts = Annotated[bool, typer.Option("--dot-products", help="Inner products as in the paper, not cosines.")]
ModelsInOrder = Annotated[
    list[str], typer.Option("--model", help="A folder or a Hub name; repeat it in the order of training.")
]
Models = Annotated[list[str], typer.Option("--model", help="A folder or a Hub name; may be repeated.")]
ContextTurns = Annotated[int, typer.Option("--turns", min=2, max=14, help="Number of turns in each context.")]

# Replies
ConversationFile = Annotated[
    Path, typer.Option("--conversation", help="A file of conversations, the first of which is taken.")
]
OtherId = Annotated[str | None, typer.Option("--id", help="Take the conversation with this id instead.")]
Candidates = Annotated[
    Path | None,
    typer.Option("--candidates", help="A .txt file with one utterance per line, or a file of conversations."),
]
Generator = Annotated[
    str | None,
    typer.Option(help="A causal language model that generates the candidates instead: a folder or a Hub name."),
]
PlanningGenerator = Annotated[
    str | None,
    typer.Option(
        "--generator",
        help="For short-term-planning: a causal language model that generates the candidates, a folder or a Hub name. "
        "What it generated is kept. By default they are drawn from other conversations.",
    ),
]
Number = Annotated[int, typer.Option(min=1, help="Number of candidates to generate.")]
Top = Annotated[int, typer.Option(min=1, help="Number of utterances to show.")]
Mode = Annotated[
    str | None,
    typer.Option(help="composed, average, max, bi or joined; by default the first of these that the model serves."),
]
LastRows = Annotated[int | None, typer.Option(help="Average only pairs that include one of this many last turns.")]
EmbeddingsFile = Annotated[
    Path | None, typer.Option("--embeddings", help="Keep the candidates' embeddings in this .npy file for next time.")
]
Half = Annotated[bool, typer.Option("--half", help="Keep these embeddings in half precision.")]
Goal = Annotated[str, typer.Option(help="What should be said a few turns later.")]
Speaker = Annotated[
    str | None,
    typer.Option(help="Who speaks next; by default whoever spoke before the last speaker.", show_default=False),
]
GoalSpeaker = Annotated[
    str | None, typer.Option(help="Who says the goal; by default whoever speaks next.", show_default=False)
]

# Stores
NewStore = Annotated[
    str,
    typer.Option("--store", help="Folder of the store, or qdrant://host:6333/collection; made if it is not there."),
]
StoreArgument = Annotated[
    str, typer.Argument(help="Folder of the store, or qdrant://host:6333/collection.", show_default=False)
]
GivenStore = Annotated[
    str | None, typer.Option("--store", help="A store whose messages are the candidates, instead of --candidates.")
]
Query = Annotated[str, typer.Argument(help="What to look for.", show_default=False)]
SearchLevel = Annotated[
    Literal["message", "conversation", "reply"],
    typer.Option(help="Messages or conversations like the text, or replies to it."),
]
SearchMode = Annotated[
    Literal["vector", "text", "hybrid"], typer.Option(help="By meaning, by words, or by both fused.")
]
Where = Annotated[
    str | None, typer.Option(help="A filter, such as: role = 'user' and label.intent in ('refund', 'cancel').")
]
Limit = Annotated[int, typer.Option(min=1, help="Number of hits to show.")]
Offset = Annotated[int, typer.Option(min=0, help="Number of the best hits to leave out.")]
Diversity = Annotated[
    float | None, typer.Option(min=0, max=1, help="Prefer hits that differ: 0 not at all, 1 above all.")
]
Reranker = Annotated[
    str | None, typer.Option(help="A cross-encoder that ranks the best hits again: a folder or a Hub name.")
]
StorePooling = Annotated[
    str, typer.Option("--pooling", help="Of a new store: messages, mean, interlocutor, or speaker:ROLE.")
]
NewPooling = Annotated[
    str | None, typer.Option("--pooling", help="How whole conversations are pooled from now on; by default as before.")
]
Tokenizer = Annotated[
    str,
    typer.Option(
        help="Of a new store: simple (words) or ngram (pairs of characters); by default what fits.", show_default=False
    ),
]
Language = Annotated[str, typer.Option(help="Of a new store: language of the stems and stop words of simple.")]
Retention = Annotated[float, typer.Option(min=0, help="Minutes for which old versions are kept for readers.")]
IndexKind = Annotated[
    Literal["flat", "compressed"] | None,
    typer.Option(help="Build the vector indexes anew: flat is the most accurate, compressed the quickest."),
]
GroupTable = Annotated[
    Path, typer.Option("--output", "-o", help=".parquet, .csv or .jsonl; - is the standard output, as JSON lines.")
]
ClusterLevel = Annotated[
    Literal["message", "conversation"], typer.Option(help="A row for each message, or for each conversation.")
]
GroupSample = Annotated[
    int,
    typer.Option(min=2, help="Most messages, or conversations, that groups are fitted to; all others are assigned."),
]
GroupHistory = Annotated[
    bool,
    typer.Option(
        "--history",
        help="Group messages with what was said before them, so that an answer is where its question is.",
    ),
]
NameEndpoint = Annotated[
    str | None,
    typer.Option(
        help="Have new groups named by an OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1: it is sent ten "
        "texts of each. A key is read from TURNWISE_NAMING_KEY."
    ),
]
NameModel = Annotated[str | None, typer.Option(help="The model's name at that endpoint.")]
Ids = Annotated[list[str], typer.Argument(help="Ids of conversations.", show_default=False)]
ErasedIds = Annotated[
    list[str] | None,
    typer.Argument(
        help="Ids of conversations to delete now; what was deleted before is erased anyway.", show_default=False
    ),
]
PrintJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

# The explorer
GivenData = Annotated[
    list[Path] | None,
    typer.Argument(help="Files, folders or globs of conversations, put into the store first.", show_default=False),
]
ExploredStore = Annotated[
    str | None,
    typer.Option("--store", help="Folder of the store; by default DATA.store where this runs.", show_default=False),
]
ExportTarget = Annotated[
    Path | None,
    typer.Option("--export", help="Write a folder that opens in any browser, or a .parquet file for embedding-atlas."),
]
LocalPort = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port on this machine; 0 is a free one.")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Only print the address.")]

# The service
Stores = Annotated[
    list[str] | None,
    typer.Option(
        "--store", help="A conversation store, FOLDER, qdrant://… or NAME=either; may be repeated.", show_default=False
    ),
]
Host = Annotated[str, typer.Option(envvar="TURNWISE_HOST", help="Address to listen on.")]
Port = Annotated[int, typer.Option(envvar="TURNWISE_PORT", min=0, max=65535, help="Port to listen on.")]
KeysFile = Annotated[
    Path | None,
    typer.Option("--keys", help="File of API keys; without it only this machine is served.", show_default=False),
]
ServiceAssignments = Annotated[
    list[str] | None,
    typer.Option("--set", help="Any setting of the service, as name=value; may be repeated.", show_default=False),
]
KeyName = Annotated[str, typer.Argument(help="Who gets the key; stands in logs and metrics.", show_default=False)]
NewKeysFile = Annotated[Path, typer.Option("--keys", help="File of API keys, to which its hash is added.")]
KeyScopes = Annotated[list[str], typer.Option("--scope", help="read, write or admin; may be repeated.")]
KeyStore = Annotated[str | None, typer.Option("--store", help="The name of the only store it may see; by default all.")]
RequestsPerMinute = Annotated[int | None, typer.Option(help="Most requests a minute; by default any number.")]


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given; the others are ``None``."""
    return {name: value for name, value in options.items() if value is not None}


def parse_settings(assignments: list[str]) -> dict[str, Any]:
    """``name=value`` with TOML values; a bare word is text, but for ``none``, which is no value.

    Raises:
        ValueError: An assignment has no ``=``.
    """
    settings = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise ValueError(f"--set {assignment}: expected name=value, such as --set temperature=0.05")
        try:
            settings[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            settings[name.strip()] = None if value == "none" else value
    return settings
