"""The schemes once more in plain numpy, one file each, to be read beside the papers; nothing comes from the library.

Every file has a function `run(model, ..., h, n)` that returns the states of n steps as rows (t, q, v). They are slow,
without tolerances of their own, and know just what their source says: implicit equations are iterated until they no
longer change, contact laws are solved by trying every answer (law.py).
"""
