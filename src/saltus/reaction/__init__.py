"""Reactions: impulses of contacts and joints at one moment, what is reported of them, and one look at a state."""
