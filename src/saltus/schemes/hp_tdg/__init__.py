"""HpTDG, the default scheme: Galerkin intervals whose degree and length follow from a tolerance."""
