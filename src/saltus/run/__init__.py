"""One run: the march over its steps, its tables and limits, and how a step is made again."""
