"""Stages of a step: coefficients and solvers shared by schemes of several stages."""
