"""Mechanisms in the words of engineers: bodies, joints, clearances, forces; `Planar` makes an ordinary Problem of them.

Lengths in m, masses in kg, angles in rad, forces in N, times in s.
"""
