"""Planning: how many rows a study needs, and what more rows would bring.

precision      interval and power that foldless will have at a given size
sample_size    the smallest size that keeps a promise
growth         how the separation grows with the training rows
learning       the AUC of the same classifier, trained on more rows
"""
