"""How often a step of one standard deviation could be located to ten boots at best.

Simulated: histories with normal scatter, and tests that know its size, the size of the step and
the slopes that a drift may have. Both directions have the same weight, and so have all places, or
those of steps that are 20 to 60 boots old have three times as much. A test gives the place around
which most of the likelihood lies, and judges by the likelihood there or by that of all places. Its
threshold is that at which 1 in 100 histories without a step has an alarm, for each of the drifts.
Nothing of Firstlight is used here.

    python3 experiments/gate/limits.py [HISTORIES]        needs numpy
"""

import sys

import numpy

LEAST = 5  # boots of a level
NEAR = 10  # boots to which the step is to be located
DRIFTS = [0.0, 0.25, 0.5, 1.0]  # standard deviations over 200 boots
NEW = (20, 60)  # boots since a step
# How much weight a test gives to each of the drifts.
WEIGHTS = [
    [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1], [1, 0, 0, 1],
    [1, 0, 0, 3], [1, 0, 0, 10], [1, 0, 1, 0], [1, 0, 3, 0],
]  # fmt: skip


def slopes(weights):
    """Slopes of both directions, and their weights."""
    total = sum(weights)
    for drift, weight in zip(DRIFTS, weights):
        if drift == 0.0:
            yield 0.0, weight / total
        else:
            yield drift, weight / total / 2
            yield -drift, weight / total / 2


def evidence(series, alone, beside, weight_of_new):
    """The logarithms of the likelihood ratios of a step near the best place and of a step at all,
    and that place."""
    boots = series.shape[1]
    places = numpy.arange(LEAST, boots - LEAST + 1)
    line = (numpy.arange(boots) - (boots - 1) / 2) / 200
    steps = (numpy.arange(boots)[None, :] >= places[:, None]).astype(float)
    steps -= steps.mean(1, keepdims=True)
    # The level is not known.
    series = series - series.mean(1, keepdims=True)
    on_line, on_steps = series @ line, series @ steps.T
    without = numpy.full(len(series), -numpy.inf)
    with_step = numpy.full((len(series), len(places)), -numpy.inf)
    for slope, weight in slopes(alone):
        if weight > 0:
            gain = slope * on_line - slope**2 * (line @ line) / 2
            without = numpy.logaddexp(without, gain + numpy.log(weight))
    for slope, weight in slopes(beside):
        for step in (1, -1) if weight > 0 else ():
            gain = (slope * on_line - slope**2 * (line @ line) / 2)[:, None] + step * on_steps
            gain -= (step**2 * (steps**2).sum(1) / 2 + slope * step * (steps @ line))[None, :]
            with_step = numpy.logaddexp(with_step, gain + numpy.log(weight / 2))
    age = boots - places
    weights = numpy.where((age >= NEW[0]) & (age <= NEW[1]), float(weight_of_new), 1.0)
    with_step += numpy.log(weights / weights.sum())
    ratio = numpy.exp(numpy.clip(with_step - without[:, None], -600, 600))
    sums = numpy.concatenate([numpy.zeros((len(series), 1)), numpy.cumsum(ratio, 1)], 1)
    first = numpy.maximum(numpy.arange(len(places)) - NEAR, 0)
    behind = numpy.minimum(numpy.arange(len(places)) + NEAR + 1, len(places))
    near = sums[:, behind] - sums[:, first]
    best = near.argmax(1)
    at_best = near[numpy.arange(len(series)), best]
    return (numpy.log(at_best), numpy.log(sums[:, -1])), places[best]


def main():
    histories = int(sys.argv[1]) if len(sys.argv) > 1 else 6000
    chance = numpy.random.default_rng(11)
    cases = [((before, after), 1) for before, after in [(40, 40), (100, 40), (160, 40), (100, 100)]]
    cases += [((160, 40), 3), ((100, 100), 3)]
    for (before, after), weight_of_new in cases:
        boots = before + after
        line = (numpy.arange(boots) - (boots - 1) / 2) / 200
        noise = [chance.standard_normal((histories, boots)) + line * drift for drift in DRIFTS]
        stepped = chance.standard_normal((histories, boots))
        stepped[:, before:] += 1
        best = dict.fromkeys(DRIFTS, 0.0)
        for weights in WEIGHTS:
            for beside in [1, 0, 0, 0], weights:
                alarms = [evidence(series, weights, beside, weight_of_new)[0] for series in noise]
                ratios, place = evidence(stepped, weights, beside, weight_of_new)
                for judges, ratio in enumerate(ratios):
                    threshold = -numpy.inf
                    for most, alarm in zip(DRIFTS, alarms):
                        threshold = max(threshold, numpy.quantile(alarm[judges], 0.99))
                        located = (ratio > threshold) & (abs(place - before) <= NEAR)
                        best[most] = max(best[most], located.mean())
        for most, part in best.items():
            print(
                f"{before} before, {after} after, weight of new places {weight_of_new}, "
                f"drift up to {most} sd: {100 * part:.0f} %",
                flush=True,
            )


main()
