"""Print hashes of weights, vectors, figures, groups and search results of a small generated corpus, one a line.

Run it on one machine before and after a change that must not change results, and compare the outputs with ``diff``. It
uses only what users use. What fails prints its error in place of a hash. One core needs about five minutes.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # sums of floats depend on the threads

import hashlib
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from safetensors.torch import load_file, save

import turnlens
from turnlens.evaluation import TASKS
from turnlens.training import METHODS, get_recipe

exact = json.JSONEncoder(sort_keys=True, default=lambda value: getattr(value, "tolist", lambda: str(value))())
BASE = "sentence-transformers/all-MiniLM-L6-v2"
SHORT = {"max_steps": 2, "batch_size": 4, "gradient_accumulation_steps": 1, "seed": 0, "keep_anyway": True}
THINGS = {"library": ("novel", "atlas", "cookbook"), "gym": ("yoga class", "locker"), "garden": ("rose", "lawn mower")}
REQUESTS = {
    "renew": ("Can I keep the {} for {} more weeks?", "I'd like to renew my {}, please.", "Extend the {} to May {}?"),
    "cancel": ("Please cancel the {} I reserved.", "I no longer need the {} number {}.", "How do I cancel my {}?"),
    "broken": ("The {} is damaged since {} days!", "Something is wrong with my {}.", "My {} broke again, do help me."),
    "price": ("How much is a {}?", "What does the {} cost for {} people?", "Is there a discount on the {}?"),
}
ANSWERS = ("I have done that for your {}.", "The {} will be ready in {} days.", "Sorry, I can't do this for a {}.")
ENDS = ("Thanks, that's all.", "No, this does not help me at all.", "Great, thank you!", "Hm. Write to jo{}@mail.org")


def corpus(count):
    """Return conversations of a user and an agent, with labels and times, always the same."""
    draw, time, conversations = random.Random(0), 1_740_000_000, []
    for number in range(count):
        topic = draw.choice(list(THINGS))
        turns = [("agent", "Hello, this is the service desk. How can I help you?", "hello")] * draw.choice((0, 0, 1))
        for intent in draw.sample(list(REQUESTS), draw.choice((1, 2, 2, 3))):
            thing = draw.choice(THINGS[topic])
            turns.append(("user", draw.choice(REQUESTS[intent]).format(thing, draw.randint(2, 30)), intent))
            turns.append(("agent", draw.choice(ANSWERS).format(thing, draw.randint(2, 9)), f"{intent}-answer"))
        messages = []
        for role, content, intent in [*turns, ("user", draw.choice(ENDS).format(number), "end")]:
            time += draw.randint(60, 20_000)  # seconds
            messages.append({"role": role, "content": content, "intent": intent, "time": time})
        conversations.append({"id": f"c{number}", "topic": topic, "rating": draw.randint(1, 5), "messages": messages})
    return conversations


def show(name, make, *arguments, **settings):
    """Print the hash of what ``make`` returns, of each value if that is a mapping, or the error."""
    try:
        made = make(*arguments, **settings)
        for part, value in sorted(made.items()) if isinstance(made, dict) else [("", made)]:
            content = value if isinstance(value, bytes) else exact.encode(value).encode()
            print(f"{name} {part}: {hashlib.sha256(content).hexdigest()[:16]}", flush=True)
    except Exception as error:
        text = " ".join(str(error).replace(str(folder), "FOLDER").split())
        print(f"{name}: {type(error).__name__}: {text[:150]}", flush=True)


def train(method, preset):
    """Train for two steps, and return the tensors that are saved, and vectors of messages and conversations."""
    recipe, output = get_recipe(method, preset=preset), folder / f"{method}-{preset}"
    settings = {name: value for name, value in SHORT.items() if hasattr(recipe, name)}
    settings |= {"adaptation": {"max_steps": 2, "batch_size": 4}} if getattr(recipe, "adaptation", None) else {}
    turnlens.train(chats, method=method, preset=preset, settings=settings, encoder=BASE, output=output)
    tensors = [{name: tensor} for file in output.rglob("*.safetensors") for name, tensor in load_file(file).items()]
    encoder = turnlens.load_encoder(output)
    wholes = {way: encoder.encode_conversations(chats[:10], pooling=way) for way in ("mean", "interlocutor")}
    return wholes | {"messages": encoder.encode_messages(chats[:10]), "weights": b"".join(sorted(map(save, tensors)))}


def groups(level):
    """Return the columns of the table of groups, and of the summary of groups of messages."""
    found = turnlens.cluster(chats, level=level)
    table = found.to_pandas().sort_values(["id", "turn"] if level == "message" else ["id"]).to_dict("list")
    summary = found.summary().to_pydict() if level == "message" else {}
    return table | {f"summary {name}": values for name, values in summary.items()}


def search(query):
    """Return the ids and scores of messages, conversations and replies that a store finds."""
    store = turnlens.ConversationStore.open(folder / "store", create=False)
    hits = {f"messages by {mode}": store.search_messages(query, mode=mode) for mode in ("vector", "text", "hybrid")}
    hits["conversations"] = store.search_conversations(query)
    hits["replies"] = store.next_replies([{"role": "user", "content": query}])
    return {k: [(h.conversation, getattr(h, "turn", None), round(h.score, 6)) for h in hits[k]] for k in hits}


def page():
    """Return the data of the explorer's page, without its date and version."""
    command = (sys.executable, "-m", "turnlens", "explore", "--store", folder / "store", "--export", folder / "page")
    subprocess.run(command, check=True, capture_output=True)
    data = {}
    for file in (folder / "page" / "data").iterdir():
        value = json.loads(file.read_text(encoding="utf-8").partition(",")[2].rstrip(");\n"))
        data |= {f"{file.stem} {key}": value[key] for key in value} if isinstance(value, dict) else {file.stem: value}
    return {name: value for name, value in data.items() if name not in ("summary made", "summary turnlens")}


temporary = tempfile.TemporaryDirectory()
folder, chats = Path(temporary.name), corpus(180)  # messages enough to learn a projection
for name in (BASE, "turnlens/encoder"):
    encoder = turnlens.load_encoder(name)
    show(f"vectors {name} texts", encoder.encode_messages, [m["content"] for c in chats for m in c["messages"]][:200])
    for context in ("history", "conversation"):
        show(f"vectors {name} messages {context}", encoder.encode_messages, chats, context=context)
    for pooling in ("mean", "messages", "speaker:user", "interlocutor"):
        show(f"vectors {name} conversations {pooling}", encoder.encode_conversations, chats, pooling=pooling)
for method in sorted(METHODS):
    for preset in (None, "paper"):  # not every method has the settings of a paper
        show(f"training {method} {preset or 'own'}", train, method, preset)
for name in (BASE, folder / "c3l-None"):
    data = {"data": chats, "encoder": name, "conversation_label": "topic", "max_queries": 50}
    for task in sorted(TASKS):
        show(f"figures {task} {Path(name).name}", turnlens.evaluate, tasks=task, **data)
for level in ("message", "conversation"):
    show(f"groups {level}", groups, level)
show("store", lambda: turnlens.ConversationStore.create(folder / "store", chats).stats().messages)
for query in ("keep a book longer", "the lawn mower is broken", "cancel yoga", "cost for four people", "please help"):
    show(f"search {query!r}", search, query)
show("page", page)
