"""Reading of Parquet files by pyarrow, in pieces that are too small to fill the memory."""

from __future__ import annotations

import io
from typing import Any

from areaviz.intake.columns import MAX_COLUMNS, MAX_ROWS, Column, check_header, make_too_many_error
from areaviz.intake.json_files import make_columns_from_objects
from areaviz.intake.spreadsheets import MAX_UNPACKED
from areaviz.trace.errors import InputError, shorten

_ROWS_OF_A_PIECE = 500


def read_parquet(name: str, data: bytes) -> tuple[Column, ...]:
    """Read the columns of a Parquet file. Nested columns get dotted names, such as "text.en".

    Raises:
        InputError: the file is damaged, has too many rows or columns, or unpacks to more than
            `MAX_UNPACKED` bytes. The error is also raised if pyarrow is not installed.
    """
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(
            f'"{shorten(name)}" is a Parquet file, which needs pyarrow. Install pyarrow or save the'
            " file as JSON Lines."
        ) from error
    try:
        file = parquet.ParquetFile(io.BytesIO(data))
        _check_footer(name, file.metadata)
        texts = [field.path for field in map(file.schema.column, range(len(file.schema)))]
        file = parquet.ParquetFile(io.BytesIO(data), read_dictionary=texts)
        objects: list[dict[str, Any]] = []
        spread = 0
        for piece in file.iter_batches(batch_size=_ROWS_OF_A_PIECE):
            spread += sum(_measure_expanded_size(arrow, column) for column in piece.columns)
            if spread > MAX_UNPACKED:
                raise _make_too_large_error(name)
            objects += piece.to_pylist()
            if len(objects) > MAX_ROWS:
                raise make_too_many_error(name, MAX_ROWS, "rows")
    except InputError:
        raise
    except Exception as error:  # pyarrow raises many kinds for files that are damaged
        reason = shorten(str(error).splitlines()[0]) if str(error) else "damaged"
        raise InputError(
            f'"{shorten(name)}" cannot be read as Parquet ({reason}). Save it again, or as JSON'
            " Lines."
        ) from error
    return make_columns_from_objects(name, objects)


def _check_footer(name: str, footer: Any) -> None:
    if footer.num_rows > MAX_ROWS:
        raise make_too_many_error(name, MAX_ROWS, "rows")
    if footer.num_columns > MAX_COLUMNS:
        check_header(name, [str(number) for number in range(footer.num_columns)])
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    if sum(group.total_byte_size for group in groups) > MAX_UNPACKED:
        raise _make_too_large_error(name)


def _measure_expanded_size(arrow: Any, column: Any) -> int:
    """Return the number of bytes of a column if every row has its own copy of its text.

    A Parquet file can store a long text once and refer to it in every row.
    """
    if not arrow.types.is_dictionary(column.type):
        return int(column.nbytes)
    from pyarrow import compute

    lengths = compute.binary_length(column.dictionary)
    return int(compute.sum(lengths.take(column.indices)).as_py() or 0)


def _make_too_large_error(name: str) -> InputError:
    return InputError(
        f'"{shorten(name)}" unpacks to more than {MAX_UNPACKED >> 20:,} MB, which is the limit.'
        " Split the file."
    )
