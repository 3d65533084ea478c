"""What is asked of a finished run, one question per file; `Solution` has a thin method for each."""
