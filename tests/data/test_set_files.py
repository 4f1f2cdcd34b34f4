"""Files are read as one set in the roles that their names suggest or their reader gives them."""

from __future__ import annotations

import json
from itertools import permutations

import pytest

from areaviz.data.set_files import Roles, likely_roles, read_output
from areaviz.trace.errors import InputError

FILES = {
    "my.de.txt": b"Ein Hund.\nEine Katze.\n",
    "my.en.txt": b"A dog.\nA cat.\n",
    "my.align.txt": b"0-0\n1-1\n",
    "output-a.txt": b"Hund.\nKatze.\n",
    "hyp_b.txt": b"Ein.\nEine.\n",
    "hyp_b.comet.csv": b"COMET\n0.5\n0.7\n",
}


def test_roles_are_guessed_by_names_in_any_order() -> None:
    for names in permutations(FILES):
        found = likely_roles(names)
        assert found.source == "my.en.txt" and found.references == ("my.de.txt",)
        assert found.links == "my.align.txt"
        assert set(found.outputs) == {"output-a.txt", "hyp_b.txt"}
        assert found.scores == ("hyp_b.comet.csv",)
    assert likely_roles(["a.png", "set.CSV"]) == Roles(table="set.CSV")
    assert likely_roles(["a.png"]) == Roles()


def test_a_set_is_read_again_from_its_roles_as_it_was() -> None:
    roles = likely_roles(list(FILES))
    dataset = roles.read(FILES)
    again = Roles.of(json.loads(json.dumps(roles.entries)))
    assert again == roles and again.read(FILES).digest == dataset.digest
    written = roles.read_outputs(FILES, dataset)
    older = {name: value for name, value in roles.entries.items() if name != "scores"}
    assert Roles.of(older).scores == () and Roles.of(older).outputs == roles.outputs
    assert written["output-a.txt"] == ("Hund.", "Katze.")


def test_tables_and_pictures_are_read_in_their_roles() -> None:
    assert Roles(table="x.csv").read({"x.csv": b"text\nA dog.\n"}).examples[0].text == "A dog."
    with pytest.raises(InputError, match="has no examples"):
        Roles().read({})


@pytest.mark.parametrize("values", [{}, {"table": 1}, {"table": "", "source": "", "links": ""}])
def test_roles_of_other_kinds_are_refused(values: dict[str, object]) -> None:
    with pytest.raises((ValueError, KeyError)):
        Roles.of(values)
    with pytest.raises(ValueError, match="no text"):
        Roles.of({**Roles().entries, "outputs": [3]})


def test_outputs_one_line_short_are_refused_in_one_sentence() -> None:
    dataset = Roles(source="my.en.txt").read(FILES)
    with pytest.raises(InputError, match='"s.txt" has 1 lines but "my.en.txt" has 2 examples'):
        read_output("s.txt", {"s.txt": b"Ein Hund.\n"}, dataset)
