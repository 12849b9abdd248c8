"""The command that centres dialogue vectors: `turnwise model centre`."""

from __future__ import annotations

import shlex

from turnwise._utils.progress import note
from turnwise.cli.options import Data, DistillDialogues, Force, Model, OutputFolder, Seed, Stretch
from turnwise.cli.reading import Reading, reads_conversations
from turnwise.cli.terminal import quiet_transformers


@reads_conversations
def centre(
    data: Data,
    output: OutputFolder,
    reading: Reading,
    model: Model = None,
    stretch: Stretch = 0.1,
    distill: DistillDialogues = False,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Put the mean of whole conversations beside a model, to be taken away from the vector of each.

    All conversations of one source have something in common; without it, cosines tell what is particular to each.
    What is left is stretched a little along the directions in which they differ most. Needs no labels, and counts
    wherever turnwise embeds whole conversations by --pooling mean or messages. With --distill, those pooled from
    messages also learn to be alike as their joined texts are, for small talk.

    Example: `turnwise model centre chats.jsonl --model model --output centred`
    """
    quiet_transformers()
    from turnwise.training import centre_encoder

    centre_encoder(reading.read(data, output), model, output, stretch, distill, seed, force)
    command = f"turnwise embed {reading.command_line(data)} --model {shlex.quote(str(output))} --level dialogue"
    note(f"Wrote {output}. Next: {command} --output dialogues.parquet")
