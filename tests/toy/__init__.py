"""An algorithm added as ARCHITECTURE.md says: one class, and small loops of the same name for each backend."""
