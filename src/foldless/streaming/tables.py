"""Files and memory maps as tables that are read in blocks, here or by the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from foldless import _check
from foldless.errors import InputError
from foldless.sources import ArraySource, Source
from foldless.sources.arrays import block_height
from foldless.sources.lazy import SpreadSource
from foldless.sources.parquet import ParquetSource

BLOCK_ELEMENTS = 1 << 21  # 16 MB of float64


def open_files(
    paths: Any,
    target: str,
    *,
    drop: str | tuple[str, ...] = (),
    meaning: Mapping[Any, Any] | None = None,
    spread: bool = False,
) -> Source:
    """The rows of Parquet files; every column but `target` and those in `drop` is a feature.

    Parameters
    ----------
    paths : path, folder, pattern such as ``"big/*.parquet"``, or a list of paths
    target : str
        The column of labels.
    drop : str or tuple of str
        Columns to leave out; they are not read.
    meaning : mapping, optional
        The label that each value of the target stands for, such as ``{"yes": 1, "no": 0}``; other values are an error.
        By default the values are the labels.
    spread : bool
        Let Dask compute the statistics of each row group, on a cluster if a client is in use. The workers must see
        the files under the same paths.

    Returns
    -------
    Source
        Takes the place of X in `auc_posterior`, `cbauc`, `ScoreStats.from_data` and `fit_logistic`.
    """
    source = ParquetSource.of(paths, target, drop=(drop,) if isinstance(drop, str) else tuple(drop), meaning=meaning)
    if not spread:
        return source
    try:
        import dask  # noqa: F401
    except ModuleNotFoundError as err:
        raise InputError("spread=True needs Dask: pip install 'foldless[dask]'.") from err
    return SpreadSource(source)


def in_blocks(X: Any, y: Any, *, elements: int = BLOCK_ELEMENTS) -> Source:
    """An array or memory map, read in blocks of so many numbers: steps of a pipeline then never copy it whole.

    Examples
    --------
    >>> import foldless as fl
    >>> from foldless.streaming import in_blocks
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    >>> abs(fl.auc_posterior(model, in_blocks(X, y)).mean - fl.auc_posterior(model, X, y).mean) < 1e-12
    True
    """
    M, labels = _check.as_matrix(X), _check.label_vector(y)
    _check.same_length(M.shape[0], labels.size)
    return ArraySource(M, labels, block_height(M, elements))


@contextmanager
def cluster(address: str | None, timeout: float = 10.0) -> Iterator[bool]:
    """A Dask client for a scheduler such as ``tcp://host:8786`` while the block runs; whether there is one.

    A scheduler that does not answer within `timeout` seconds is an error.
    """
    if address is None:
        yield False
        return
    try:
        from distributed import Client
    except ModuleNotFoundError as err:
        raise InputError("a scheduler needs Dask: pip install 'foldless[dask]'.") from err
    try:
        client = Client(address, timeout=timeout)
    except (OSError, ValueError, TimeoutError) as err:
        raise InputError(f"no Dask scheduler answers at {address} ({type(err).__name__}): check the address.") from err
    with client:
        yield True
