"""From a System to a compiled model: checks, traces, code, and whether it still fits what the user wrote."""
