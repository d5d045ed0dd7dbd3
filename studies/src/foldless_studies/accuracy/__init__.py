"""How far off are the estimates? Methods against the truth, on simulations and on folders of data sets.

Reading order: `cells` -> `run` -> `results` -> `report`.
"""
