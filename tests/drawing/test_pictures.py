import base64
import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from areaviz.draw import pictures, theme


def decoded(uri: str) -> np.ndarray:
    kind, content = uri.split(",")
    assert kind == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(content))).convert("RGBA"))


@given(
    st.integers(1, 12), st.integers(1, 12), st.integers(1, 5), st.integers(1, 5), st.integers(0, 99)
)
def test_averages_are_means_of_blocks_without_nan(
    rows: int, columns: int, down: int, across: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.random((rows, columns)).astype(np.float32)
    values[rng.random(values.shape) < 0.3] = np.nan
    averaged = pictures.average_blocks(values, down, across)
    assert averaged.shape == (-(-rows // down), -(-columns // across))
    for r, c in np.ndindex(averaged.shape):
        cells = values[r * down : (r + 1) * down, c * across : (c + 1) * across]
        inside = cells[~np.isnan(cells)]
        np.testing.assert_allclose(
            averaged[r, c], inside.mean() if inside.size else np.nan, rtol=1e-5
        )


def test_blocks_keep_pictures_small() -> None:
    assert [pictures.compute_block_size(n) for n in (1, 400, 401, 1024, 4096)] == [1, 1, 2, 3, 11]


def test_pixels_use_scale_colours_and_transparent_nan() -> None:
    picture = decoded(
        pictures.encode_matrix(np.array([[0, 0.25, 0.5, np.nan, 9]], dtype=np.float32), 0.5)
    )
    width = picture.shape[1] // 5
    first, half, full, clear, above = (picture[0, width * i + width // 2] for i in range(5))
    for pixel, share in ((first, 0.0), (half, 0.5), (full, 1.0), (above, 1.0)):
        np.testing.assert_allclose(pixel, np.array(theme.SEQUENCE(share)) * 255, atol=2)
    assert clear[3] == 0


def test_noise_of_4096_items_stays_below_the_budget() -> None:
    noise = np.random.default_rng(0).random((4096, 4096), dtype=np.float32)
    uri = pictures.encode_matrix(
        pictures.average_blocks(
            noise, pictures.compute_block_size(4096), pictures.compute_block_size(4096)
        )
        * 8
        - 3.5,
        1.0,
    )
    assert len(uri) < 300_000 and max(decoded(uri).shape) <= pictures.PIXELS
