"""Embedding corpora shard by shard, in this process or on a Ray cluster (extra ``ray``)."""
