"""Frames: columns are read from them, and results are made in the caller's kind of frame."""
