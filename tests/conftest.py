"""What the whole suite shares."""

from __future__ import annotations

import os

from hypothesis import settings

# A slow machine makes no example wrong; CI tries the same examples every time.
settings.register_profile("areaviz", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("areaviz")
