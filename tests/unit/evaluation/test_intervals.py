import random

from askbook.evaluation.intervals import mean_interval, paired_difference, statistic_interval


def test_interval_holds_the_mean_and_is_the_same_every_time() -> None:
    chance = random.Random(1)
    values = [chance.random() for _ in range(200)]
    found = mean_interval(values)
    assert found is not None
    assert found[0] < sum(values) / 200 < found[1]
    assert found == mean_interval(values)
    assert found[1] - found[0] < 0.1


def test_one_question_gives_no_interval() -> None:
    assert mean_interval([0.5]) is None


def test_a_worse_configuration_is_called_worse() -> None:
    chance = random.Random(2)
    first = [chance.random() for _ in range(100)]
    second = [max(0.0, value - 0.1 * chance.random()) for value in first]
    found = paired_difference(first, second)
    assert found.verdict == "worse"
    assert found.interval[0] < found.difference < found.interval[1] < 0
    assert paired_difference(second, first).verdict == "better"


def test_the_same_configuration_is_called_equal() -> None:
    values = [0.1, 0.5, 0.9]
    found = paired_difference(values, values)
    assert (found.verdict, found.difference, found.interval) == ("equal", 0.0, (0.0, 0.0))


def test_noise_around_zero_is_called_equal() -> None:
    chance = random.Random(3)
    first = [chance.random() for _ in range(100)]
    second = [value + chance.uniform(-0.2, 0.2) for value in first]
    assert paired_difference(first, second).verdict == "equal"


def test_a_statistic_that_is_undefined_for_every_draw_has_no_interval() -> None:
    assert statistic_interval(lambda rows: None, 10, 20) is None
    assert statistic_interval(lambda rows: float(len(rows)), 10, 20) == (10.0, 10.0)
