"""Lasting contact: closed contacts between events, held, sliding or let go, and the impulse where they change."""
