"""How close foldless on a GPU comes to the limits of the device, measured within one run.

    OPENBLAS_NUM_THREADS=1 python -m foldless_studies.evidence.gpu --out results

Needs PyTorch with CUDA and array-api-compat. For tables of N x P:

- ``fl.cbauc(w, X, y)``, K = 1, against the bandwidth of a copy of X, in float32 and float64.
- ``fl.cbauc(W, X, y)``, K = 256, against ``torch.matmul(X, W)`` alone. TF32 is off in both.
- ``fl.auc_posterior(model, X, y)`` of a fitted logistic regression in float32, against the two products it needs.
- A ``FoldlessSearch`` by accuracy over 20 penalties of a ridge classifier of 1,000 classes, P = 1,024.
- The answers against those of the CPU in float64 on the same numbers: over all rows, or the first 20,000.

Times are medians over repetitions, wall clock, with the device idle before and after each; the answer that comes back
to the host is part of the time.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import foldless as fl
from foldless_studies.evidence.stamps import stamp
from foldless_studies.pages import Page, Table, Text

LIMITS = {"one": 0.70, "many": 0.80, "float64": 1e-6, "float32": 1e-4, "products": 1.5, "more": 20.0, "sweep": 60.0}
FEW, BLOCK = 20_000, 50_000
CLASSES, WIDTH, PENALTIES = 1_000, 1_024, np.logspace(-2, 6, 20)


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """Median wall time of a call; the device is idle before and after."""
    for _ in range(3):
        call()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def make_table(n: int, p: int, k: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Two Gaussian classes, labels and weights on the device."""
    generator = torch.Generator("cuda").manual_seed(20240229)
    y = (torch.rand(n, generator=generator, device="cuda") < 0.4).to(torch.int64)
    X = torch.randn(n, p, generator=generator, device="cuda", dtype=dtype)
    direction = torch.randn(p, generator=generator, device="cuda", dtype=dtype) / p**0.5
    X.addcmul_(y.to(dtype)[:, None], direction[None, :])
    W = direction[:, None] + 0.5 * torch.randn(p, k, generator=generator, device="cuda", dtype=dtype) / p**0.5
    return X, y, W


def on_cpu(X: torch.Tensor, y: torch.Tensor, W: torch.Tensor) -> np.ndarray:
    """The answer of the CPU in float64: the same numbers, brought over a block of rows at a time."""
    weights, labels = W.double().cpu().numpy(), y.cpu().numpy()
    starts = range(0, len(labels), BLOCK)
    parts = lambda: ((X[i : i + BLOCK].double().cpu().numpy(), labels[i : i + BLOCK]) for i in starts)  # noqa: E731
    return np.asarray(fl.cbauc(weights, parts))


def along_weights(X: torch.Tensor, y: torch.Tensor, W: torch.Tensor, repeats: int) -> dict[str, Any]:
    """Figures of `cbauc` for one precision."""
    w, size, half = W[:, 0].contiguous(), X.numel() * X.element_size(), X[: len(X) // 2]
    copy = size / seconds(partial(torch.empty_like(half).copy_, half), repeats)
    one, vector = seconds(lambda: fl.cbauc(w, X, y), repeats), seconds(lambda: X @ w, repeats)
    many, product = seconds(lambda: fl.cbauc(W, X, y), repeats), seconds(lambda: X @ W, repeats)
    answer, extra = with_memory(lambda: fl.cbauc(W, X, y))
    reference = on_cpu(X, y, W)
    return {
        "dtype": str(X.dtype).removeprefix("torch."),
        "copy_tb_s": copy / 1e12,
        "one_ms": 1e3 * one,
        "gemv_ms": 1e3 * vector,
        "one_of_copy": size / one / copy,
        "many_ms": 1e3 * many,
        "matmul_ms": 1e3 * product,
        "matmul_share": product / many,
        "extra_device_mb": extra,
        "difference_one": abs(fl.cbauc(w, X, y) - float(reference[0])),
        "difference_many": float(np.max(np.abs(answer - reference))),
    }


def with_memory(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and the device memory that it takes meanwhile, in MB."""
    torch.cuda.reset_peak_memory_stats()
    before, answer = torch.cuda.memory_allocated(), call()
    return answer, (torch.cuda.max_memory_allocated() - before) / 1e6


def fitted(X: torch.Tensor, y: torch.Tensor) -> LogisticRegression:
    """The logistic regression with C = 1, by Newton's method in float64 on the device."""
    w, t = torch.zeros(X.shape[1] + 1, dtype=torch.float64, device=X.device), y.double()
    penalty = torch.ones_like(w).index_fill_(0, torch.tensor([X.shape[1]], device=X.device), 0.0)
    for _ in range(12):
        slope, H = penalty * w, torch.diag(penalty)
        for start in range(0, len(X), BLOCK):
            rows = torch.nn.functional.pad(X[start : start + BLOCK].double(), (0, 1), value=1.0)
            p = torch.sigmoid(rows @ w)
            slope += rows.mT @ (p - t[start : start + BLOCK])
            H += (rows * (p * (1 - p))[:, None]).mT @ rows
        w = w - torch.linalg.solve(H, slope)
    model, found = LogisticRegression(), w.cpu().numpy()
    model.classes_, model.n_features_in_ = np.array([0, 1]), X.shape[1]
    model.coef_, model.intercept_ = found[None, :-1], found[-1:]
    return model


def honest(X: torch.Tensor, y: torch.Tensor, repeats: int) -> dict[str, Any]:
    """Figures of `auc_posterior`; the products beside it are those of whole matrices, without weights or centring."""
    model, few = fitted(X, y), fitted(X[:FEW], y[:FEW])
    root = torch.randn(X.shape[1], X.shape[1], device=X.device, dtype=X.dtype).triu_()
    gram, seen = seconds(lambda: X.mT @ X, repeats), seconds(lambda: X @ root, repeats)
    extra = with_memory(lambda: fl.auc_posterior(model, X, y))[1]
    there = fl.auc_posterior(few, X[:FEW], y[:FEW]).interval(0.9)
    here = fl.auc_posterior(few, X[:FEW].double().cpu().numpy(), y[:FEW].cpu().numpy()).interval(0.9)
    whole = seconds(lambda: fl.auc_posterior(model, X, y), repeats)
    return {
        "gram_ms": 1e3 * gram,
        "seen_ms": 1e3 * seen,
        "honest_ms": 1e3 * whole,
        "allowed_ms": LIMITS["products"] * 1e3 * (gram + seen) + LIMITS["more"],
        "honest_mb": extra,
        "honest_difference": float(np.max(np.abs(np.subtract(there, here)))),
    }


def sweep(rows: int) -> dict[str, Any]:
    """Figures of a search over penalties, of rows that scatter about means of their classes; the first call counts."""
    generator = torch.Generator("cuda").manual_seed(20240229)
    y = torch.randint(CLASSES, (rows,), generator=generator, device="cuda")
    X = torch.randn(rows, WIDTH, generator=generator, device="cuda")
    X += 0.15 * torch.randn(CLASSES, WIDTH, generator=generator, device="cuda")[y]

    def searched(X: Any, y: Any, penalties: Any) -> fl.FoldlessSearch:
        return fl.FoldlessSearch(RidgeClassifier(), {"alpha": penalties}, scoring="accuracy").fit(X, y)

    searched(X[:FEW], y[:FEW], PENALTIES[:1])
    start = time.perf_counter()
    best, extra = with_memory(lambda: searched(X, y, PENALTIES).best_posterior_)
    taken = time.perf_counter() - start
    few = searched(X[:FEW], y[:FEW], PENALTIES[10:12]).posteriors_
    host = searched(X[:FEW].double().cpu().numpy(), y[:FEW].cpu().numpy(), PENALTIES[10:12]).posteriors_
    apart = [np.subtract(a.interval(0.9), b.interval(0.9)) for a, b in zip(few, host, strict=True)]
    return {
        "sweep_s": taken,
        "sweep_mb": extra,
        "sweep_accuracy": best.mean,
        "sweep_difference": float(np.max(np.abs(apart))),
    }


def verdict(r: dict[str, Any]) -> list[str]:
    """Which limits are met."""
    difference = max(value for name, value in r.items() if "difference" in name)
    checks = {
        f"K = 1 at {r['one_of_copy']:.0%} of the bandwidth of a copy": r["one_of_copy"] >= LIMITS["one"],
        f"K = many at {r['matmul_share']:.0%} of matmul alone": r["matmul_share"] >= LIMITS["many"],
        f"difference to the CPU {difference:.1e}": difference <= LIMITS[r["dtype"]],
    }
    if "honest_ms" in r:
        checks[f"posterior in {r['honest_ms']:.1f} of {r['allowed_ms']:.1f} ms"] = r["honest_ms"] <= r["allowed_ms"]
        checks[f"{PENALTIES.size} penalties, {CLASSES} classes in {r['sweep_s']:.1f} s"] = (
            r["sweep_s"] <= LIMITS["sweep"]
        )
    return [f"{'met ' if ok else 'MISSED'}  {r['dtype']}: {text}" for text, ok in checks.items()]


ROWS = (
    ("copy of X, read + write, TB/s", "copy_tb_s", ".2f"),
    ("`cbauc`, K = 1, ms", "one_ms", ".3f"),
    ("`X @ w` alone, ms", "gemv_ms", ".3f"),
    ("share of the measured copy", "one_of_copy", ".0%"),
    ("`cbauc`, K = many, ms", "many_ms", ".2f"),
    ("`torch.matmul` alone, ms", "matmul_ms", ".2f"),
    ("matmul alone / `cbauc`", "matmul_share", ".0%"),
    ("device memory beside X, y, W, MB", "extra_device_mb", ".0f"),
    ("difference to the CPU, K = 1", "difference_one", ".1e"),
    ("difference to the CPU, K = many", "difference_many", ".1e"),
    ("X'X alone, ms", "gram_ms", ".1f"),
    ("X R alone, R triangular, ms", "seen_ms", ".1f"),
    ("`auc_posterior` (leave-one-out), ms", "honest_ms", ".1f"),
    ("1.5 x both products + 20 ms", "allowed_ms", ".1f"),
    ("device memory beside X, y, MB", "honest_mb", ".0f"),
    ("difference to the CPU, 20,000 rows, ends of the interval", "honest_difference", ".1e"),
    (f"search: {PENALTIES.size} ridge penalties, {CLASSES:,} classes, P = {WIDTH:,}, s", "sweep_s", ".1f"),
    ("accuracy of the best", "sweep_accuracy", ".3f"),
    ("device memory beside X, y, MB", "sweep_mb", ".0f"),
    ("difference to the CPU, 20,000 rows, 2 penalties, ends of the intervals", "sweep_difference", ".1e"),
)


def page(results: list[dict[str, Any]], args: argparse.Namespace) -> Page:
    """The table, and how it was made."""
    about = (
        f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}; N = {args.rows:,}, "
        f"P = {args.columns:,}, many = {args.classifiers}. TF32 is off, one BLAS thread on the host. Made by "
        f"`OPENBLAS_NUM_THREADS=1 python -m foldless_studies.evidence.gpu --out results`; medians of {args.repeats} "
        f"runs. The posterior is that of a logistic regression with C = 1 at its optimum, notes and checks included."
    )
    rows = [[name, *(format(r[key], spec) if key in r else "" for r in results)] for name, key, spec in ROWS]
    return Page("foldless on a GPU", [Text(about), Table(["", *(r["dtype"] for r in results)], rows)])


def main() -> None:
    """Measure, say which limits are met, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for gpu.md")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=1_000)
    parser.add_argument("--classifiers", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=60)
    args = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("no CUDA device: this benchmark measures a GPU")
    torch.backends.cuda.matmul.allow_tf32 = False
    results = []
    for dtype in (torch.float32, torch.float64):
        X, y, W = make_table(args.rows, args.columns, args.classifiers, dtype)
        more = honest(X, y, args.repeats) if dtype == torch.float32 else {}
        results.append(along_weights(X, y, W, args.repeats) | more)
        del X, y, W
        if dtype == torch.float32:
            results[-1] |= sweep(args.rows)
        print("\n".join(verdict(results[-1])), flush=True)
    print("\n" + (text := page(results, args).markdown()))
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / "gpu.md").write_text(f"{text}\n{stamp(('auc', 'in-sample'), args.out)}")


if __name__ == "__main__":
    main()
