"""Open every page. `tests.try_wheel` runs this where the extra `app` is installed."""

import os
import sys

from areaviz.samples.paths import APP, IS_CLONE, PAGES, ROOT

# Streamlit reads its settings here, as it does for `areaviz serve`.
os.chdir(ROOT)
from streamlit.testing.v1 import AppTest  # noqa: E402

assert not IS_CLONE, "the package of a clone was imported"
SECONDS = 600

problems = []
for path in sorted(PAGES.glob("*.py")):
    app = AppTest.from_file(str(APP), default_timeout=SECONDS).switch_page(f"pages/{path.name}")
    app.run()
    # The page Read needs a model of the reader and says so, which is not an error here.
    said = [element.value for element in (*app.exception, *app.error)]
    if said and path.stem != "read":
        problems.append(f"{path.stem}: {' '.join(said)}")
    print(path.stem, app.title[0].value if app.title else "has no title", flush=True)
if problems:
    sys.exit("\n".join(problems))
