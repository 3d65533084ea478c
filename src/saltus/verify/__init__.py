"""A second run as proof: how far two runs agree, where they part and why."""
