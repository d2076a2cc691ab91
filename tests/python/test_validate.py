"""What ``laneway validate`` makes of records."""

import io

import pytest
from rich.console import Console

from laneway_tools.draw.predictions import draw_predictions
from laneway_tools.measure import validate
from laneway_tools.measure.validate import Case, Score
from laneway_tools.places.errors import UserError


def case(measured, predicted, chosen="direct", mpi=1.0, auto=1.0, init=None):
    init = init or dict.fromkeys([*measured, "auto"], 1.0)
    return Case("case", {**measured, "mpi": mpi, "auto": auto}, predicted, chosen, init)


def test_regret_is_the_time_of_the_chosen_by_that_of_the_best():
    one = case({"direct": 3.0, "split": 2.0}, {"direct": 1.0, "split": 2.0})
    assert one.best == "split"
    assert one.regret == 1.5


def test_baselines_are_no_candidates():
    one = case({"direct": 3.0}, {"direct": 1.0}, mpi=0.5)
    assert one.best == "direct"
    assert one.against_mpi == 2.0


def test_pairs_that_hardly_differ_do_not_count():
    one = case({"a": 1.0, "b": 1.05, "c": 2.0, "d": 2.0}, {"a": 1.0, "b": 2.0, "c": 1.5, "d": 1.0})
    # a-c right, a-d equal, b-c and b-d wrong; a-b and c-d do not differ.
    assert one.pairs() == (1, 2, 1)


def test_kendalls_tau_b():
    right = case({"direct": 1.0, "split": 2.0}, {"direct": 1.0, "split": 2.0}, "direct")
    wrong = case({"direct": 1.0, "split": 2.0}, {"direct": 2.0, "split": 1.0}, "split")
    equal = case({"direct": 1.0, "split": 2.0}, {"direct": 1.0, "split": 1.0}, "direct")
    assert Score.of([right, right]).tau_b == 1.0
    assert Score.of([right, wrong]).tau_b == 0.0
    assert Score.of([right, equal]).tau_b == pytest.approx(1 / 2**0.5)
    assert Score.of([wrong]).tau_b == -1.0


def test_payback_counts_exchanges():
    init = {"direct": 1.0, "split": 3.0, "auto": 4.0}
    assert case({"direct": 2.0, "split": 1.9}, {"split": 1.0}, "split", init=init).payback == pytest.approx(30)
    assert case({"direct": 2.0, "split": 1.9}, {"split": 1.0}, "direct", init=init).payback == 0
    assert case({"direct": 1.0, "split": 1.9}, {"split": 1.0}, "split", init=init).payback == float("inf")


def test_costly_setups_count_where_a_relay_is_chosen():
    def chosen(strategy, init):
        return case({"direct": 2.0, "split": 1.0}, {"split": 1.0}, strategy, init={"direct": 1.0, "split": 2.0, "auto": init})

    score = Score.of([chosen("split", 2.2), chosen("split", 2.7), chosen("direct", 9.0)])
    assert score.init_ratio == pytest.approx(1.225)
    assert score.costly_init == 1


def record(candidate, median, **more):
    return {
        "benchmark": "neighbor", "op": "allgather", "pattern": "p", "bytes": 8, "candidate": candidate,
        "median_s": median, "init_s": 1e-3, "verified": True, **more,
    }  # fmt: skip


def records():
    predicted = {"direct": 2e-4, "split": 1e-4}
    return [
        record("mpi", 3e-4, init_s=None),
        record("direct", 2e-4),
        record("split", 1.5e-4),
        record("auto", 1.5e-4, predicted_s=predicted, chosen="split"),
    ]


def test_report_writes_numbers_and_a_picture_shows_them(tmp_path):
    text = io.StringIO()
    cases = validate.cases_of(records())
    score = validate.report(cases, tmp_path / "v.csv", Console(file=text, width=120))
    assert score.cases == 1 and score.regret_max == 1.0 and score.slower_than_mpi == 0
    draw_predictions(cases, tmp_path / "v.svg")
    assert (tmp_path / "v.svg").stat().st_size > 0
    lines = (tmp_path / "v.csv").read_text().splitlines()
    assert lines[0].startswith("exchange,strategy,measured_s,predicted_s,chosen")
    assert len(lines) == 3
    assert "regret: median 1.000" in text.getvalue()
    (again,) = validate.cases_of_table(tmp_path / "v.csv")
    (case,) = cases
    assert (again.name, again.chosen, sorted(again.strategies)) == (case.name, case.chosen, sorted(case.strategies))
    assert again.measured == {name: pytest.approx(case.measured[name], rel=1e-4) for name in case.strategies}
    assert again.predicted == {name: pytest.approx(case.predicted[name], rel=1e-4) for name in case.strategies}


def test_wrong_results_are_refused():
    bad = records()
    bad[2]["verified"] = False
    with pytest.raises(UserError, match="wrong result of split"):
        validate.cases_of(bad)


def test_nothing_to_report():
    with pytest.raises(UserError, match="no exchange"):
        validate.cases_of(records()[:3])


def test_enough_cases_and_seeds_differ():
    assert sum(len(run.patterns) * len(run.sizes) for run in validate.runs(6)) >= 60
    assert validate.runs(6) != validate.runs(1)


def test_launches_count_by_their_medians():
    faster = [{**each, "median_s": 0.5 * each["median_s"]} for each in records()]
    slower = [{**each, "median_s": 3 * each["median_s"]} for each in records()]
    (case,) = validate.cases_of([*records(), *faster, *slower])
    assert case.measured == {each["candidate"]: each["median_s"] for each in records()}
    assert case.init["direct"] == pytest.approx(1e-3) and "mpi" not in case.init


def in_rounds(*seconds):
    times = {"mpi": seconds, "mpi-again": seconds, "auto": [1.1 * value for value in seconds]}
    return [{**each, "samples_s": list(times.get(each["candidate"], seconds))} for each in [*records(), record("mpi-again", 3e-4)]]


def test_not_slower_counts_pairs_of_a_round():
    launches = [*in_rounds(1e-4, 2e-4, 9e-4), *in_rounds(3e-4, 1e-4, 2e-4)]
    (case,) = validate.cases_of(launches)
    assert case.ratios["auto"] == pytest.approx((1.1, 1.1)) and case.ratios["mpi-again"] == (1.0, 1.0)
    assert case.slower("auto") and not case.not_slower("auto")
    assert not case.slower("mpi-again") and case.not_slower("mpi-again")
    score = Score.of([case])
    assert score.not_shown == {"auto": 1, "mpi-again": 0} and score.shown_slower == {"auto": 1, "mpi-again": 0}


def test_samples_that_are_not_there_show_nothing():
    (case,) = validate.cases_of(records())
    assert case.ratios == {} and case.not_slower("auto") and not case.slower("auto")


def test_regret_by_what_was_fastest_in_the_other_launches():
    times = {"direct": [2.0, 2.0, 2.0], "split": [1.0, 2.0, 3.0], "three_step": [3.0, 1.9, 2.1]}
    medians = {"direct": 2.0, "split": 2.0, "three_step": 2.1}
    one = Case("case", medians, medians, "direct", {}, launches=times)
    # The fastest is direct without the first or the second launch, split without the third.
    assert one.other_regret == pytest.approx(1.0)
    assert case({"direct": 3.0, "split": 2.0}, {"direct": 1.0, "split": 2.0}).other_regret == 1.5
