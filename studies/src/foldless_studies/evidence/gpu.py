"""How close `fl.cbauc` on a GPU comes to the limits of the device, measured within one run.

    python -m foldless_studies.evidence.gpu --out results

Needs PyTorch with CUDA and array-api-compat. For float32 and float64 tables of N x P:

- K = 1: time of ``fl.cbauc(w, X, y)`` against one read of X. That read is measured with PyTorch's sum over the
  same tensor, and given as a share of the nominal bandwidth (`--nominal`, in TB/s), too.
- K = 256: time of ``fl.cbauc(W, X, y)`` against ``torch.matmul(X, W)`` alone. TF32 is off in both.
- The answers against those of the CPU in float64 on the same numbers, over all rows.

Times are medians over repetitions, wall clock, with the device idle before and after each; the answer that comes back
to the host is part of the time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import foldless as fl
from foldless_studies.pages import Page, Table, Text

LIMITS = {"one": 0.60, "many": 0.80, "float64": 1e-6, "float32": 1e-4}


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


def on_cpu(X: torch.Tensor, y: torch.Tensor, W: torch.Tensor, block: int = 50_000) -> np.ndarray:
    """The answer of the CPU in float64: the same numbers, brought over a block of rows at a time."""
    weights, labels = W.double().cpu().numpy(), y.cpu().numpy()

    def chunks() -> Any:
        for start in range(0, len(labels), block):
            rows = slice(start, start + block)
            yield X[rows].double().cpu().numpy(), labels[rows]

    return np.asarray(fl.cbauc(weights, chunks))


def read_once(X: torch.Tensor, repeats: int) -> tuple[float, float]:
    """Fastest measured read of X and copy of it, in bytes per second; the copy counts both ways."""
    size = X.numel() * X.element_size()
    read = size / seconds(lambda: X.sum(), repeats)
    half = X[: len(X) // 2]
    other = torch.empty_like(half)
    return read, size / seconds(lambda: other.copy_(half), repeats)


def measured(dtype: torch.dtype, args: argparse.Namespace) -> dict[str, Any]:
    """All figures for one precision."""
    X, y, W = make_table(args.rows, args.columns, args.classifiers, dtype)
    w, size = W[:, 0].contiguous(), X.numel() * X.element_size()
    read, copy = read_once(X, args.repeats)
    one, vector = seconds(lambda: fl.cbauc(w, X, y), args.repeats), seconds(lambda: X @ w, args.repeats)
    many, product = seconds(lambda: fl.cbauc(W, X, y), args.repeats), seconds(lambda: X @ W, args.repeats)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    answer = fl.cbauc(W, X, y)
    extra = torch.cuda.max_memory_allocated() - before
    reference = on_cpu(X, y, W)
    return {
        "dtype": str(dtype).removeprefix("torch."),
        "bytes": size,
        "read_tb_s": read / 1e12,
        "copy_tb_s": copy / 1e12,
        "nominal_tb_s": args.nominal,
        "one_ms": 1e3 * one,
        "gemv_ms": 1e3 * vector,
        "one_tb_s": size / one / 1e12,
        "one_of_nominal": size / one / 1e12 / args.nominal,
        "one_of_read": size / one / read,
        "one_of_copy": size / one / copy,
        "many_ms": 1e3 * many,
        "matmul_ms": 1e3 * product,
        "matmul_share": product / many,
        "tflops": 2 * args.rows * args.columns * args.classifiers / product / 1e12,
        "extra_device_mb": extra / 1e6,
        "difference_one": abs(fl.cbauc(w, X, y) - float(reference[0])),
        "difference_many": float(np.max(np.abs(answer - reference))),
        "mean_auc": float(np.mean(reference)),
    }


def verdict(r: dict[str, Any]) -> list[str]:
    """Which limits are met."""
    difference = max(r["difference_one"], r["difference_many"])
    checks = {
        f"K = 1 at {r['one_of_nominal']:.0%} of the nominal bandwidth": r["one_of_nominal"] >= LIMITS["one"],
        f"K = 1 at {r['one_of_copy']:.0%} of the bandwidth of a copy": r["one_of_copy"] >= LIMITS["one"],
        f"K = many at {r['matmul_share']:.0%} of matmul alone": r["matmul_share"] >= LIMITS["many"],
        f"difference to the CPU {difference:.1e}": difference <= LIMITS[r["dtype"]],
    }
    return [f"{'met ' if ok else 'MISSED'}  {r['dtype']}: {text}" for text, ok in checks.items()]


ROWS = (
    ("one read of X (sum), TB/s", "read_tb_s", ".2f"),
    ("copy of X, read + write, TB/s", "copy_tb_s", ".2f"),
    ("nominal bandwidth, TB/s", "nominal_tb_s", ".2f"),
    ("`cbauc`, K = 1, ms", "one_ms", ".3f"),
    ("`X @ w` alone, ms", "gemv_ms", ".3f"),
    ("`cbauc`, K = 1, TB/s of X", "one_tb_s", ".2f"),
    ("share of the nominal bandwidth", "one_of_nominal", ".0%"),
    ("share of the measured copy", "one_of_copy", ".0%"),
    ("`cbauc`, K = many, ms", "many_ms", ".2f"),
    ("`torch.matmul` alone, ms", "matmul_ms", ".2f"),
    ("`torch.matmul` alone, TFLOP/s", "tflops", ".1f"),
    ("matmul alone / `cbauc`", "matmul_share", ".0%"),
    ("device memory beside X, y, W, MB", "extra_device_mb", ".0f"),
    ("difference to the CPU, K = 1", "difference_one", ".1e"),
    ("difference to the CPU, K = many", "difference_many", ".1e"),
)


def page(results: list[dict[str, Any]], args: argparse.Namespace) -> Page:
    """The table, and how it was made."""
    about = (
        f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}; N = {args.rows:,}, "
        f"P = {args.columns:,}, many = {args.classifiers}. TF32 is off. Products are in the precision of X; the "
        f"moments of one classifier are accumulated in float64, those of many within a block in the precision of X, "
        f"about a shift, and over blocks in float64. Made by "
        f"`python -m foldless_studies.evidence.gpu --out results`; medians of {args.repeats} runs."
    )
    rows = [[name, *(format(r[key], spec) for r in results)] for name, key, spec in ROWS]
    return Page("foldless on a GPU", [Text(about), Table(["", *(r["dtype"] for r in results)], rows)])


def main() -> None:
    """Measure, say which limits are met, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for gpu.json and gpu.md")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=1_000)
    parser.add_argument("--classifiers", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("--nominal", type=float, default=4.8, help="nominal memory bandwidth in TB/s (H200: 4.8)")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("no CUDA device: this benchmark measures a GPU")
    torch.backends.cuda.matmul.allow_tf32 = False
    results = []
    for dtype in (torch.float32, torch.float64):
        results.append(measured(dtype, args))
        print("\n".join(verdict(results[-1])), flush=True)
    text = page(results, args).markdown()
    print("\n" + text)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / "gpu.md").write_text(text)
        (args.out / "gpu.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
