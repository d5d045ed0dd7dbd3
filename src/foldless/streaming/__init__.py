"""Tables larger than memory: classifiers taken apart, and fitted, a block of rows at a time.

view     a fitted classifier on a stream, as the methods want to see it
fit      logistic regression by Newton steps from P x P sums
tables   files and memory maps, read in blocks here or by a Dask cluster
"""

from foldless.streaming.fit import fit_logistic as fit_logistic
from foldless.streaming.tables import cluster as cluster
from foldless.streaming.tables import in_blocks as in_blocks
from foldless.streaming.tables import open_files as open_files
