"""Run by `tests.try_wheel` where the extra `app` is installed: every page, as a reader opens it."""

import sys

from streamlit.testing.v1 import AppTest

from areaviz.data.places import APP, IS_CLONE, PAGES

assert not IS_CLONE, "the package of a clone was imported"
SECONDS = 600

problems = []
for path in sorted(PAGES.glob("*.py")):
    app = AppTest.from_file(str(APP), default_timeout=SECONDS).switch_page(f"pages/{path.name}")
    app.run()
    # Read is for models of the reader's own, and says so.
    said = [element.value for element in (*app.exception, *app.error)]
    if said and path.stem != "read":
        problems.append(f"{path.stem}: {' '.join(said)}")
    print(path.stem, app.title[0].value if app.title else "has no title", flush=True)
sys.exit("\n".join(problems))
