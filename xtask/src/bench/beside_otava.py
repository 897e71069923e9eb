"""Change points that Apache Otava finds in the tables that `histories write` made.

    beside_otava.py FOLDER COUNT

It is asked for a minimum magnitude of zero and its default p value, the same for every
kind of scatter, and then for smaller ones, at which it has fewer false alarms. Counts are those of
`crates/analysis/tests/histories/mod.rs`.
"""

import csv
import sys
import time

from otava.analysis import compute_change_points

KINDS = ["normal", "upwards", "outliers", "two-groups", "slow-drift", "half-drift", "drift", "memory", "together"]
# Otava's defaults.
WINDOW, MAX_P = 50, 0.001
SMALLER = [0.0001, 0.00001, 0.000001]


def series(folder, kind, case, seed):
    with open(f"{folder}/{kind}-{case}-{seed}.csv", newline="") as file:
        return [float(row["first_light_ms"]) for row in csv.DictReader(file)]


def found(values, p):
    points, _ = compute_change_points(values, window_len=WINDOW, max_pvalue=p, min_magnitude=0.0)
    return [point.index for point in points]


def counts(folder, kind, count, p):
    alarms = sum(bool(found(series(folder, kind, "none", s), p)) for s in range(count))

    def hits(case, at):
        near = lambda s: any(abs(i - at) <= 10 for i in found(series(folder, kind, case, s), p))
        return sum(near(s) for s in range(count))

    return alarms, hits("two", 100), hits("one", 160)


def show(name, numbers, of):
    cells = [f"{100 * n / of:.1f} %" for n in numbers]
    print(f"{name:<12}{cells[0]:>14}{cells[1]:>18}{cells[2]:>20}", flush=True)


def main(folder, count):
    begun = time.time()
    print(f"Apache Otava, {count} histories each, p = {MAX_P}, window {WINDOW}")
    print(f"{'scatter':<12}{'false alarms':>14}{'2 sd, 10 after':>18}{'1 sd, 40 after':>20}")
    for p in [MAX_P, *SMALLER]:
        of_kinds = []
        for kind in KINDS:
            of_kinds.append(counts(folder, kind, count, p))
            if p == MAX_P:
                show(kind.replace("-", " "), of_kinds[-1], count)
        show(f"all, {p:g}", map(sum, zip(*of_kinds)), count * len(KINDS))
    print(f"{time.time() - begun:.0f} s")


main(sys.argv[1], int(sys.argv[2]))
