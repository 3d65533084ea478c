"""Coefficients: Galerkin and Runge-Kutta tables, polynomials through nodes."""
