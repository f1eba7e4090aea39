"""Frames: columns in, and results out in the caller's kind of frame."""
