"""Many runs of one model: a compiled loop over runs, buffers per thread, reducers in place of tables."""
