"""Modules whose activations are computed anew or kept in host memory."""
