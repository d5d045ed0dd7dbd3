"""The long fuzzing run: every public function and the command line on drawn cases, and what surprised.

    cd tests && python -m fuzz                      # 100,000 examples on all cores, as `make fuzz`
    python -m fuzz --examples 2000 --only auc_posterior compare

Prints, for each property, the examples tried, how they ended, and each kind of surprise with the case that made it.
The exit code is 1 if there was any. An example that takes more than a minute of processor time counts as a surprise.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzz.outcome import Outcome
from fuzz.properties import PROPERTIES

EXAMPLES = 100_000
SLICE = 250  # examples of one task: hypothesis remembers what it drew, and forgets it between tasks
SECONDS = 60


class Overdue(BaseException):
    """An example took too long."""


def _ring(*_: Any) -> None:
    raise Overdue


def timed(name: str, case: Any) -> Outcome:
    """The outcome of one case, a surprise if it hangs."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return PROPERTIES[name].outcome(case)
    except Overdue:
        return Outcome("surprise", f"no answer after {SECONDS} s of processor time", f"hang of {name}")
    except Exception as err:  # the harness itself, or an answer that cannot be looked at
        return Outcome("surprise", repr(err), f"harness: {type(err).__name__}: {err}"[:200])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def run_slice(name: str, number: int, examples: int) -> tuple[str, Counter[str], dict[str, tuple[str, str]]]:
    """Outcomes of one slice, and one case with its text for each place of surprise."""
    signal.signal(signal.SIGPROF, _ring)
    kinds: Counter[str] = Counter()
    surprises: dict[str, tuple[str, str]] = {}

    @seed(number)
    @settings(max_examples=examples, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(PROPERTIES[name].draw)
    def probe(case: Any) -> None:
        outcome = timed(name, case)
        kinds[outcome.kind] += 1
        if outcome.kind == "surprise":
            surprises.setdefault(outcome.place, (repr(case), outcome.text))

    probe()
    return name, kinds, surprises


def slices(names: list[str], examples: int, first: int) -> list[tuple[str, int, int]]:
    """The tasks: examples in proportion to the shares of the properties."""
    total = sum(PROPERTIES[name].share for name in names)
    tasks = []
    for name in names:
        wanted = -(-examples * PROPERTIES[name].share // total)
        tasks += [(name, first + start, min(SLICE, wanted - start)) for start in range(0, wanted, SLICE)]
    # Spread the properties over the run, so that the time to go can be told.
    return sorted(tasks, key=lambda task: (task[1] * 7919) % 10007)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fuzz the public functions and the command line.")
    parser.add_argument("--examples", type=int, default=EXAMPLES)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", nargs="+", choices=sorted(PROPERTIES), default=list(PROPERTIES))
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> int:
    """Run, print, and say by the exit code whether anything was unexpected."""
    options = parsed()
    tasks = slices(options.only, options.examples, options.seed)
    kinds: dict[str, Counter[str]] = {name: Counter() for name in options.only}
    surprises: dict[str, dict[str, tuple[str, str]]] = {name: {} for name in options.only}
    started, wanted = time.monotonic(), sum(task[2] for task in tasks)
    with ProcessPoolExecutor(options.jobs) as pool:
        for done in as_completed([pool.submit(run_slice, *task) for task in tasks]):
            name, counts, found = done.result()
            kinds[name] += counts
            for place in set(found) - set(surprises[name]):
                tell(name, place, *found[place])
            surprises[name] = {**found, **surprises[name]}
            progress(kinds, wanted, time.monotonic() - started)
    print(file=sys.stderr)
    return report(kinds, surprises)


def tell(name: str, place: str, case: str, text: str) -> None:
    """A new kind of surprise, as soon as it is known: where, on which case, and in which words."""
    print(f"\n{name}: {place}\n  {case}\n  {text.rstrip()}", flush=True)


def progress(kinds: dict[str, Counter[str]], wanted: int, seconds: float) -> None:
    """One line that is written over."""
    tried = sum(sum(counts.values()) for counts in kinds.values())
    unexpected = sum(counts["surprise"] for counts in kinds.values())
    left = seconds / max(tried, 1) * (wanted - tried)
    line = f"{tried:,} of {wanted:,} examples, {unexpected} unexpected, {seconds / 60:.1f} min, {left / 60:.1f} to go"
    print(f"\r{line:<78}", end="", file=sys.stderr, flush=True)


def report(kinds: dict[str, Counter[str]], surprises: dict[str, dict[str, tuple[str, str]]]) -> int:
    """The table, the kinds of surprise and the exit code."""
    print(f"{'property':<28}{'examples':>10}{'answers':>10}{'refusals':>10}{'unexpected':>12}")
    for name, counts in kinds.items():
        cells = (sum(counts.values()), counts["answer"], counts["refusal"])
        print(f"{name:<28}" + "".join(f"{n:>10,}" for n in cells) + f"{counts['surprise']:>12,}")
    for name, found in surprises.items():
        for place in found:
            print(f"unexpected in {name}: {place}")
    total = sum((counts for counts in kinds.values()), Counter())
    print(f"\n{sum(total.values()):,} examples tried, {total['surprise']:,} unexpected outcomes")
    return 1 if total["surprise"] else 0


if __name__ == "__main__":
    sys.exit(main())
