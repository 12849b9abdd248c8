"""The encoder that ships, as a small file of differences from the published base encoder."""

from turnlens.encoders.shipped.delta import apply_delta as apply_delta
from turnlens.encoders.shipped.delta import learned_weights as learned_weights
