from math import inf, nan

import pytest

from areaviz.draw.labels import format_three_digits, number_text


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (-0.25, "+.2f", "−0.25"),
        (0.25, "+.2f", "+0.25"),
        (-1e-9, ".1e", "−1.0e−09"),
        (-12.5, ".0%", "−1250%"),
        (nan, "+.2f", "–"),
        (-inf, ".1f", "–"),
    ],
)
def test_negative_number_has_minus_sign_missing_a_dash(value: float, form: str, text: str) -> None:
    assert number_text(value, form) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(12345.0, "12,345"), (-3, "−3"), (0.12345, "0.123"), (-0.5, "−0.5"), (nan, "–")],
)
def test_integers_keep_all_digits_and_floats_three(value: float, text: str) -> None:
    assert format_three_digits(value) == text
