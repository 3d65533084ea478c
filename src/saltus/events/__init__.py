"""Events and what changes at them: index sets, scanning and roots of dense output, accumulations."""
