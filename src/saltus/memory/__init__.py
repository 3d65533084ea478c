"""What kernels share: the layout of a model, matrices in its memory, and the rows in which a step reports events."""
