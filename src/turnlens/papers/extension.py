"""The names of everything from the papers: an extension, which the entry point of pyproject.toml names.

docs/extensions.md says what each table is for.
"""

from __future__ import annotations

_HERE = "turnlens.papers"

METHODS = {
    "adaptation": (f"{_HERE}.adaptation:Adaptation", "messages"),
    "dialogue-cse": (f"{_HERE}.dialogue_cse.recipe:DialogueCSE", "messages, 2021"),
    "siamese": (f"{_HERE}.baselines.dual_encoders:Siamese", "messages"),
    "single-vector": (f"{_HERE}.baselines.dual_encoders:SingleVector", "next replies"),
    "dial2vec": (f"{_HERE}.dial2vec.recipe:Dial2vec", "conversations, 2022"),
    "ccl": (f"{_HERE}.triple_encoders.recipe:CCL", "next replies, 2023"),
    "c3l": (f"{_HERE}.triple_encoders.recipe:C3L", "next replies, 2024"),
}
PUBLISHED = {
    "dialogue-cse": f"{_HERE}.dialogue_cse.recipe:PublishedDialogueCSE",
    "dial2vec": f"{_HERE}.dial2vec.recipe:PublishedDial2vec",
    "ccl": f"{_HERE}.triple_encoders.recipe:PublishedCCL",
    "c3l": f"{_HERE}.triple_encoders.recipe:PublishedC3L",
}
TASKS = {
    "semantic-retrieval-with-history": f"{_HERE}.retrieval:RETRIEVAL_WITH_HISTORY",
    "conversation-retrieval": f"{_HERE}.retrieval:CONVERSATION_RETRIEVAL",
    "next-message": f"{_HERE}.next_message.next_message:NEXT_MESSAGE",
    "domain-categorization": f"{_HERE}.domain_categorization:DOMAIN_CATEGORIZATION",
    "semantic-relatedness": f"{_HERE}.dial2vec.semantic_relatedness:SEMANTIC_RELATEDNESS",
    "domain-categorization-published": f"{_HERE}.domain_categorization:PUBLISHED_CATEGORIZATION",
    "component-analysis": f"{_HERE}.triple_encoders.modes:COMPONENT_ANALYSIS",
    "dialogue-sts": f"{_HERE}.dialogue_cse.dialogue_sts:DIALOGUE_STS",
    "alignment-uniformity": f"{_HERE}.dial2vec.alignment_uniformity:ALIGNMENT_UNIFORMITY",
    "short-term-planning": f"{_HERE}.triple_encoders.short_term_planning:SHORT_TERM_PLANNING",
    "additivity": f"{_HERE}.triple_encoders.additivity:ADDITIVITY",
}
RELEASED = {
    "select.txt": (f"{_HERE}.released_files:read_select_file", "semantic-retrieval"),
    "sts.txt": (f"{_HERE}.dialogue_cse.dialogue_sts:read_sts_file", "dialogue-sts"),
}
# The most distinctive layouts first.
FORMATS = {
    "sgd": f"{_HERE}.formats.task_dialogues:SGD",
    "multiwoz": f"{_HERE}.formats.task_dialogues:MULTIWOZ",
    "bitod": f"{_HERE}.formats.task_dialogues:BITOD",
    "doc2dial": f"{_HERE}.formats.task_dialogues:DOC2DIAL",
    "metalwoz": f"{_HERE}.formats.task_dialogues:METALWOZ",
    "taskmaster": f"{_HERE}.formats.task_dialogues:TASKMASTER",
    "self_dialogue": f"{_HERE}.formats.task_dialogues:SELF_DIALOGUE",
    "mdc": f"{_HERE}.formats.tab_separated:MDC",
    "jddc": f"{_HERE}.formats.tab_separated:JDDC",
    "dailydialog": f"{_HERE}.formats.tab_separated:DAILYDIALOG",
    "ecd": f"{_HERE}.formats.tab_separated:ECD",
    "dial2vec": f"{_HERE}.formats.tab_separated:DIAL2VEC",
    "personachat": f"{_HERE}.formats.numbered_lines:PERSONACHAT",
    "cbt": f"{_HERE}.formats.numbered_lines:CBT",
}
POOLINGS = {"interlocutor": f"{_HERE}.dial2vec.pooling:sum_of_interlocutors"}
COMMANDS = {
    "papers": (f"{_HERE}.commands:app", "Reproduce the tables of DialogueCSE, dial2vec and the triple-encoders.")
}
ADDED_WEIGHTS = {"turn_tables": f"{_HERE}.dial2vec.turn_tables:restore_turn_tables"}
REPLY_MODELS = {"after": f"{_HERE}.triple_encoders.replies:TripleReplies"}
NEXT_MESSAGE_MODES = {"after": f"{_HERE}.triple_encoders.modes:TripleModes"}
PUBLISHED_PROMPTS = {"[BEFORE]": f"{_HERE}.triple_encoders.views:views_of"}
