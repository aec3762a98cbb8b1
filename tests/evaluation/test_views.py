"""What notebooks show of measures: figures, and no item."""

import pandas as pd

import pdanon

FRAME = pd.DataFrame({"<b>": [1, 2] * 10, "items": [["secret", "tea"], ["tea"]] * 10})
RESULT = pdanon.pcta(FRAME, k=2, m=1, keep=["<b>"])


def test_views_have_the_figures_and_no_item():
    workload = pdanon.Workload.itemsets(FRAME, 5, 1, random_state=0)
    attacked = pdanon.attack(FRAME, RESULT, m=1, n=7, random_state=0)
    answers = workload.are(FRAME, RESULT)
    views = [each._repr_html_() for each in (workload, attacked, answers)]
    assert "5 queries" in views[0]
    assert "7 cases" in views[1]
    assert f"{attacked.rate:.2%} re-identified" in views[1]
    assert f"{answers.are:.4g}" in views[2]
    assert "0 have none" in views[2]
    for view, each in zip(views, (workload, attacked, answers), strict=True):
        assert view.startswith("<table>")
        assert "secret" not in view + repr(each)


def test_views_escape_the_names_of_columns():
    queries = pd.DataFrame({"items": [["tea"]], "<b>": [pd.Interval(1, 1, closed="both")]})
    assert "<b>" not in pdanon.Workload.from_frame(queries)._repr_html_()
