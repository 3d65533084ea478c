"""TDGMinus and TDGPlus: discontinuous Galerkin methods in time on a given grid."""
