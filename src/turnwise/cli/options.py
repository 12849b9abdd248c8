"""The arguments and options of the commands, and how their values are read."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import turnwise
from turnwise._utils.names import DEFAULT_METHOD, METHODS


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"turnwise {turnwise.__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
]

# What is read
Data = Annotated[
    list[Path],
    typer.Argument(help="Files, folders or globs of conversations; - means the standard input.", show_default=False),
]
DataOrUrls = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders, globs or URLs (such as s3://…) of conversations; - means the standard input.",
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
Split = Annotated[
    str | None, typer.Option(help="Use only conversations with this value of the label `split`, such as test.")
]
ColumnNames = Annotated[
    str | None,
    typer.Option(
        "--columns",
        help="What the columns hold, such as conversation=ticket_id,speaker=author.type,text=body,time=created_at. "
        "Also messages=…, for records that each hold a list of messages, and ignore=….",
    ),
]
RedactedKinds = Annotated[
    str | None,
    typer.Option(
        "--redact",
        help="Replace personal data while reading: emails, phones, cards, ibans, urls, ips, or all of these; also "
        "names=FILE and persons=MODEL.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Encoding of texts, such as cp1252; by default UTF-8, or a guess from the text if it is not UTF-8."
    ),
]
SplitBy = Annotated[
    str | None,
    typer.Option(help="Split long conversations, such as a chat over months: by day, or at a pause such as 6h."),
]
Encoder = Annotated[
    str | None,
    typer.Option(
        help="Encoder to start from: a folder or a Hub name; by default the one that ships, turnwise/encoder."
    ),
]
Model = Annotated[str | None, typer.Option(help="A folder or a Hub name; if left out, the default encoder.")]
ModelArgument = Annotated[str, typer.Argument(help="A folder or a Hub name.", show_default=False)]
ModelAndData = Annotated[
    list[str],
    typer.Argument(
        metavar="[MODEL] DATA",
        help="The model (a folder or a Hub name; if left out, the default encoder), then the data.",
    ),
]

# What is written
OutputFolder = Annotated[Path, typer.Option("--output", "-o", help="Folder to write the model to.")]
ChatFile = Annotated[
    Path,
    typer.Option("--out", "--output", "-o", help="The .jsonl or .jsonl.gz file to write; - means the standard output."),
]
Vectors = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        help="The .parquet, .csv or .npy file to write; - means the standard output. A name without an ending, or a "
        "URL, is written as a folder of Parquet parts.",
    ),
]
Picture = Annotated[Path, typer.Option("--output", "-o", help="The .png, .svg or .pdf file to write.")]
FiguresFile = Annotated[
    Path | None,
    typer.Option(
        "--json", "--output", "-o", help="Also write the figures to this JSON file; - means the standard output."
    ),
]
SummaryFile = Annotated[
    Path | None,
    typer.Option(
        "--json", "--output", "-o", help="Also write all counts to this JSON file; - means the standard output."
    ),
]
RankingFile = Annotated[
    Path | None,
    typer.Option(
        "--json",
        "--output",
        "-o",
        help="Also write the messages and scores to this JSON file; - means the standard output.",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the unfinished run of this output.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output and discard its unfinished run.")]

# Distilling
DistilledTo = Annotated[Literal["static"], typer.Option("--to", help="The kind of encoder to make from the model.")]
ComparedTasks = Annotated[
    list[str] | None,
    typer.Option("--task", help="Task on labels to compare both encoders on; may be repeated. By default none."),
]
DistilledDimensions = Annotated[int, typer.Option("--dimensions", min=1, help="Length of the static vectors.")]

# Centring
Stretch = Annotated[
    float,
    typer.Option(min=0, max=1, help="Multiply each principal component by its variance to this power; 0 only centres."),
]

DistillConversations = Annotated[
    bool,
    typer.Option(
        "--distill", help="Let conversations pooled from messages learn the similarities of their joined texts."
    ),
]

# Training
Method = Annotated[
    str | None,
    typer.Option(
        help=f"By default {DEFAULT_METHOD}; of "
        + ", ".join(f"{name} ({METHODS.about(name)})" if METHODS.about(name) else name for name in METHODS)
        + "."
    ),
]
Preset = Annotated[
    Literal["paper"] | None,
    typer.Option(
        help="Use the settings of the method's paper, and start from all-MiniLM-L6-v2 unless --encoder names another; "
        "by default, turnwise's own settings are used, see docs/as-published.md."
    ),
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
KeepAnyway = Annotated[
    bool,
    typer.Option(
        "--keep-anyway", help="Keep what was learned even if it makes the conversations that are held out no better."
    ),
]
Validation = Annotated[
    Path | None,
    typer.Option(
        help="Keep the step that is best on these conversations or this released file; by default the last step."
    ),
]
ValidationTask = Annotated[
    str | None,
    typer.Option(
        "--task",
        help="Evaluation task for the validation. By default semantic-retrieval, conversation-retrieval for methods "
        "that embed whole conversations, and next-message for methods that learn what comes next.",
    ),
]

# Embedding and evaluation
Level = Annotated[
    Literal["message", "message-with-history", "message-in-context", "conversation"],
    typer.Option(
        help="One vector for each message (alone, with what was said before it, or with everything said around it), "
        "or one for each conversation."
    ),
]
Pooling = Annotated[
    str,
    typer.Option(help="How to pool whole conversations: mean, interlocutor, messages, or speaker:ROLE."),
]
Engine = Annotated[
    Literal["local", "ray"],
    typer.Option(
        help="For folders of parts: compute in this process, or on a Ray cluster (by default one on this machine)."
    ),
]
TrainEngine = Annotated[
    Literal["local", "ray"],
    typer.Option(
        help="Train in this process (or those of torchrun), or on a Ray cluster (by default one on this machine)."
    ),
]
WorkerCount = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Number of Ray processes that train together; by default one for each GPU, or one for every four CPUs.",
        show_default=False,
    ),
]
ActorCount = Annotated[
    int | None,
    typer.Option(
        "--actors",
        min=1,
        help="Number of Ray processes that embed; by default one for each GPU, or one for every four CPUs.",
        show_default=False,
    ),
]
Dtype = Annotated[
    Literal["bfloat16", "float16"] | None,
    typer.Option(
        help="Compute in half precision, which is several times faster on hardware made for it; by default in full."
    ),
]
Cache = Annotated[
    bool,
    typer.Option(
        help="Keep the vectors of messages on disk, so that a model embeds no text twice. Not used for folders."
    ),
]
Tasks = Annotated[
    list[str] | None, typer.Option("--task", help="Evaluation task; may be repeated. By default semantic-retrieval.")
]
MaxQueries = Annotated[int | None, typer.Option(help="Evaluate at most this many random queries.")]
Label = Annotated[str, typer.Option(help="Message label that holds the intent.")]
ValidationLabel = Annotated[
    str | None, typer.Option("--label", help="Message label that holds the intent.", show_default="intent")
]
ConversationLabel = Annotated[str | None, typer.Option(help="Column that holds the label of each conversation.")]

# Plots
ConversationId = Annotated[
    str | None,
    typer.Option("--conversation", help="Id of the conversation; by default the first with at least two speakers."),
]
Window = Annotated[float, typer.Option(help="Greatest distance between two turns that may match.")]
DotProducts = Annotated[
    bool, typer.Option("--dot-products", help="Use inner products, as in the paper, instead of cosines.")
]
ModelsInOrder = Annotated[
    list[str], typer.Option("--model", help="A folder or a Hub name; repeat it in the order of training.")
]
Models = Annotated[list[str], typer.Option("--model", help="A folder or a Hub name; may be repeated.")]
ContextTurns = Annotated[int, typer.Option("--turns", min=2, max=14, help="Number of turns in each context.")]

# Replies
ConversationFile = Annotated[
    Path, typer.Option("--conversation", help="A file of conversations; the first one is used.")
]
OtherId = Annotated[str | None, typer.Option("--id", help="Use the conversation with this id instead.")]
Candidates = Annotated[
    Path | None,
    typer.Option("--candidates", help="A .txt file with one message per line, or a file of conversations."),
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
Top = Annotated[int, typer.Option(min=1, help="Number of messages to show.")]
Mode = Annotated[
    str | None,
    typer.Option(
        help="How to score: composed, bi or joined, or as a paper does; by default the first that the model supports."
    ),
]
EmbeddingsFile = Annotated[
    Path | None, typer.Option("--embeddings", help="Keep the candidates' embeddings in this .npy file for next time.")
]
Half = Annotated[bool, typer.Option("--half", help="Keep these embeddings in half precision.")]
Goal = Annotated[str, typer.Option(help="What should be said a few turns later.")]
Speaker = Annotated[
    str | None,
    typer.Option(help="Who speaks next; by default the person who spoke before the last speaker.", show_default=False),
]
GoalSpeaker = Annotated[
    str | None, typer.Option(help="Who says the goal; by default whoever speaks next.", show_default=False)
]

# Stores
NewStore = Annotated[
    str,
    typer.Option("--store", help="Folder of the store; created if it does not exist."),
]
StoreArgument = Annotated[str, typer.Argument(help="Folder of the store.", show_default=False)]
GivenStore = Annotated[
    str | None, typer.Option("--store", help="A store whose messages are the candidates, instead of --candidates.")
]
Query = Annotated[str, typer.Argument(help="What to look for.", show_default=False)]
SearchLevel = Annotated[
    Literal["message", "conversation", "reply"],
    typer.Option(help="Find messages or conversations similar to the text, or replies to it."),
]
SearchMode = Annotated[
    Literal["vector", "text", "hybrid"], typer.Option(help="Search by meaning, by words, or by a fusion of both.")
]
Where = Annotated[
    str | None, typer.Option(help="A filter, such as: role = 'user' and label.intent in ('refund', 'cancel').")
]
Limit = Annotated[int, typer.Option(min=1, help="Number of hits to show.")]
Offset = Annotated[int, typer.Option(min=0, help="Number of hits to skip, from the best on.")]
Diversity = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="How much to prefer hits that differ from each other, from 0 (not at all) to 1."),
]
Reranker = Annotated[
    str | None, typer.Option(help="A cross-encoder that ranks the best hits again: a folder or a Hub name.")
]
StorePooling = Annotated[
    str,
    typer.Option(
        "--pooling",
        help="For a new store, how to pool whole conversations: messages, mean, interlocutor, or speaker:ROLE.",
    ),
]
NewPooling = Annotated[
    str | None, typer.Option("--pooling", help="How to pool whole conversations from now on; by default as before.")
]
Tokenizer = Annotated[
    str,
    typer.Option(
        help="For a new store: simple (words) or ngram (pairs of characters); by default what fits.", show_default=False
    ),
]
Language = Annotated[
    str, typer.Option(help="For a new store: the language of the tokenizer simple, for stems and stop words.")
]
Retention = Annotated[float, typer.Option(min=0, help="How many minutes to keep old versions for readers.")]
GroupTable = Annotated[
    Path,
    typer.Option(
        "--output", "-o", help="The .parquet, .csv or .jsonl file to write; - writes JSON lines to the standard output."
    ),
]
GroupSummary = Annotated[
    Path | None,
    typer.Option(
        "--summary",
        help="Also write a list of the groups to a .parquet, .csv or .jsonl file: what people ask, in how many "
        "conversations, how it grows, an example and a typical next message.",
    ),
]
GroupsOf = Annotated[
    Path,
    typer.Option(
        "--groups", help="Folder of the store that has the groups, or a groups.safetensors from such a folder."
    ),
]
GroupSeeds = Annotated[
    Path | None,
    typer.Option(
        "--seeds", help="TOML file of groups that you know: a name and a sentence, or a list of examples, for each."
    ),
]
ClusterLevel = Annotated[
    Literal["message", "conversation"], typer.Option(help="Write a row for each message, or for each conversation.")
]
GroupSample = Annotated[
    int,
    typer.Option(
        min=2, help="Fit groups to at most this many messages or conversations; all others are assigned to them."
    ),
]
GroupGranularity = Annotated[
    str,
    typer.Option(
        "--granularity",
        help="How fine groups are: coarse, medium or fine, or about how many to find of each role.",
    ),
]
GroupHistory = Annotated[
    bool,
    typer.Option(
        "--history",
        help="Group messages together with what was said before them, so that an answer is near its question.",
    ),
]
GroupRole = Annotated[
    str | None,
    typer.Option("--role", help="The role that asks, such as user; by default the one that opens most conversations."),
]
GroupFirst = Annotated[
    bool,
    typer.Option("--first", help="Take only the opening request of each conversation, after this role's greetings."),
]
NameEndpoint = Annotated[
    str | None,
    typer.Option(
        help="Let an OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1, name new groups. It receives ten "
        "texts of each group. Its key is read from TURNWISE_NAMING_KEY."
    ),
]
NameModel = Annotated[str | None, typer.Option(help="The name of the model at that endpoint.")]
Ids = Annotated[list[str], typer.Argument(help="Ids of conversations.", show_default=False)]
ErasedIds = Annotated[
    list[str] | None,
    typer.Argument(
        help="Ids of conversations to delete now; what was deleted before is always erased.", show_default=False
    ),
]
PrintJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

# The explorer
GivenData = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Files, folders or globs of conversations, which are put into the store first.", show_default=False
    ),
]
ExploredStore = Annotated[
    str | None,
    typer.Option(
        "--store", help="Folder of the store; by default DATA.store in the current folder.", show_default=False
    ),
]
ExportTarget = Annotated[
    Path | None,
    typer.Option(
        "--export", help="Write a folder that opens in any browser, or a .parquet file for embedding-atlas, and exit."
    ),
]
LocalPort = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port on this machine; 0 chooses a free one.")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Print the address without opening a browser.")]

# The service
Stores = Annotated[
    list[str] | None,
    typer.Option(
        "--store",
        help="A conversation store: FOLDER or NAME=FOLDER; may be repeated.",
        show_default=False,
    ),
]
Host = Annotated[str, typer.Option(envvar="TURNWISE_HOST", help="Address to listen on.")]
Port = Annotated[int, typer.Option(envvar="TURNWISE_PORT", min=0, max=65535, help="Port to listen on.")]
KeysFile = Annotated[
    Path | None,
    typer.Option(
        "--keys", help="File of API keys; without it, the service answers this machine only.", show_default=False
    ),
]
ServiceAssignments = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting of the service, as name=value; may be repeated.", show_default=False),
]
KeyName = Annotated[
    str, typer.Argument(help="Who gets the key; the name appears in logs and metrics.", show_default=False)
]
NewKeysFile = Annotated[
    Path, typer.Option("--keys", help="File of API keys, to which the hash of the new key is added.")
]
KeyScopes = Annotated[
    list[str], typer.Option("--scope", help="What the key allows: read, write or admin; may be repeated.")
]
KeyStore = Annotated[
    str | None, typer.Option("--store", help="Name of the only store that the key may use; by default it may use all.")
]
RequestsPerMinute = Annotated[
    int | None, typer.Option(help="Highest number of requests per minute; by default unlimited.")
]


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given; the others are ``None``."""
    return {name: value for name, value in options.items() if value is not None}


def parse_settings(assignments: list[str]) -> dict[str, Any]:
    """Read ``name=value`` settings with TOML values. A bare word is a text, except ``none``, which means no value.

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
