"""A flight: the motion from one event to the next, and what happens where it ends."""
