"""Group what people ask for: train on conversations without labels, then cluster the users' messages.

Run: python examples/find_intents.py [chats.jsonl]     (without a file: generated support conversations)
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
from sklearn.cluster import KMeans

import turnwise

conversations = turnwise.read_conversations(sys.argv[1]) if len(sys.argv) > 1 else turnwise.sample_conversations(400)
encoder = turnwise.train(conversations, method=turnwise.papers.DialogueCSE(max_steps=30))

requests = [m["content"] for row in conversations for m in row["messages"] if m["role"] == "user"]
requests = [text for text, count in Counter(requests).items() if count == 1 and len(text) > 20]
vectors = encoder.encode_messages(requests)  # (requests, dim)
clusters = KMeans(n_clusters=12, n_init=4, random_state=0).fit(vectors)

for number, center in enumerate(clusters.cluster_centers_):
    members = np.flatnonzero(clusters.labels_ == number)
    nearest = members[np.argsort(-vectors[members] @ center)[:3]]
    print(f"\n{len(members)} messages like")
    for member in nearest:
        print("   ", requests[member])
