"""Makes the files of testdata/foreign: one small table in the forms that other writers choose, and
tables of the types that are not ours.

    python make.py        # needs pyarrow and polars

The files are kept, so that the tests need no Python; run it only to add one.
"""

import datetime
import decimal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent / "foreign"
ROWS = 40


def table() -> pa.Table:
    """The table that foreign_files_test.go knows."""
    every = range(ROWS)
    return pa.table(
        {
            "b": pa.array([None if i % 7 == 3 else i % 3 == 0 for i in every], pa.bool_()),
            "i": pa.array([None if i % 5 == 1 else i * 1000 - 7 for i in every], pa.int32()),
            "k": pa.array([i // 4 for i in every], pa.int64()),
            "f": pa.array([None if i % 6 == 2 else i / 4 for i in every], pa.float32()),
            "d": pa.array([i / 8 for i in every], pa.float64()),
            "s": pa.array([None if i % 4 == 2 else f"prefix-{i % 9}" for i in every], pa.string()),
            "y": pa.array([bytes([i, 255 - i]) for i in every], pa.binary()),
            "t": pa.array([None if i % 8 == 5 else (i - 20) * 1_000_001 for i in every], pa.timestamp("us", "UTC")),
            "l": pa.array([None if i % 5 == 4 else [None if j == 2 else i + j for j in range(i % 4)] for i in every], pa.list_(pa.int64())),
        }
    )


def write(name: str, data: pa.Table, **options) -> None:
    """Writes a file with three row groups, a few values to a page."""
    given = {"row_group_size": 15, "data_page_size": 64, "write_batch_size": 4}
    pq.write_table(data, HERE / f"{name}.parquet", **(given | options))


def forms() -> None:
    """The table by codec, page version and encoding."""
    data = table()
    for codec in ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]:
        write(f"codec-{codec}", data, compression=codec)
    write("version-2", data, data_page_version="2.0", compression="snappy")
    write("version-2-plain", data, data_page_version="2.0", compression="none", use_dictionary=False)
    write("plain", data, use_dictionary=False, compression="none")
    write("checksums", data, write_page_checksum=True)
    write("no-arrow-schema", data, store_schema=False)
    write("old-lists", data, use_compliant_nested_type=False)
    plain = {"use_dictionary": False, "compression": "none"}
    delta = {c: "DELTA_BINARY_PACKED" for c in ["i", "k", "t", "l.list.element"]}
    write("delta", data, column_encoding=delta | {"s": "DELTA_BYTE_ARRAY", "y": "DELTA_LENGTH_BYTE_ARRAY", "b": "RLE"}, **plain)
    split = {c: "BYTE_STREAM_SPLIT" for c in ["i", "k", "f", "d", "t", "l.list.element"]}
    write("split", data, column_encoding=split, **plain)
    pl.from_arrow(data).write_parquet(HERE / "polars.parquet", row_group_size=15)
    write("empty", data.slice(0, 0))
    with pq.ParquetWriter(HERE / "no-row-group.parquet", data.schema):
        pass


def types() -> None:
    """Types that are not ours."""
    instants = [datetime.datetime(1, 1, 1), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), None, datetime.datetime(2024, 1, 1)]
    write("int96", pa.table({"t": pa.array([None, -1, -1001, 999], pa.timestamp("ns"))}), use_deprecated_int96_timestamps=True)
    data = pa.table(
        {
            "ns": pa.array([-1, -1001, 999, None], pa.timestamp("ns")),
            "ms": pa.array([-1, 1, None, 5], pa.timestamp("ms", "UTC")),
            "local": pa.array(instants, pa.timestamp("us")),
            "date": pa.array([datetime.date(1, 1, 1), None, datetime.date(1970, 1, 1), datetime.date(9999, 12, 31)]),
            "u8": pa.array([0, 255, None, 1], pa.uint8()),
            "i8": pa.array([-128, 127, None, 1], pa.int8()),
            "u16": pa.array([0, 65535, None, 1], pa.uint16()),
            "i16": pa.array([-32768, 32767, None, 1], pa.int16()),
            "u32": pa.array([0, 3000000000, None, 1], pa.uint32()),
            "u64": pa.array([0, 2**63, None, 1], pa.uint64()),
            "d9": pa.array([decimal.Decimal("-5.44"), decimal.Decimal("0.10"), None, decimal.Decimal("7.50")], pa.decimal128(9, 2)),
            "d18": pa.array([decimal.Decimal("-5.44"), decimal.Decimal("0.10"), None, decimal.Decimal("7.50")], pa.decimal128(18, 2)),
            "d20": pa.array([decimal.Decimal(2**63), decimal.Decimal(-1), None, decimal.Decimal(0)], pa.decimal128(20, 0)),
            "d50": pa.array([decimal.Decimal(10**49), decimal.Decimal(-1), None, decimal.Decimal(0)], pa.decimal256(50, 0)),
            "half": pa.array([1.5, -2.0, None, 0.0], pa.float16()),
            "fixed": pa.array([b"ab", b"cd", None, b"\0\0"], pa.binary(2)),
            "time": pa.array([datetime.time(1, 2, 3), None, datetime.time(0), datetime.time(23, 59, 59, 999999)], pa.time64("us")),
            "void": pa.nulls(4),
            "category": pa.array(["a", "b", None, "a"]).dictionary_encode(),
            "large": pa.array(["a", "b", None, "a"], pa.large_string()),
            "vector": pa.array([[1, 2], None, [3, 4], None], pa.list_(pa.float32(), 2)),
            "map": pa.array([[("a", 1)], [], None, [("b", None), ("c", 3)]], pa.map_(pa.string(), pa.int64())),
            "struct": pa.array([{"x": 1, "y": ["a"]}, None, {"x": None, "y": None}, {"x": 4, "y": []}], pa.struct([("x", pa.int64()), ("y", pa.list_(pa.string()))])),
        }
    )
    write("types", data)
    write("types-integer-decimals", data.select(["d9", "d18", "d20"]), store_decimal_as_integer=True)


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    forms()
    types()
