# What `turnlens.scale` offers, at run time as well (see __init__.py).

from .embed import embed_corpus as embed_corpus
from .ray_data import embed_dataset as embed_dataset
from .ray_data import read_dataset as read_dataset
