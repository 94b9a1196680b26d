"""Reads a Delta table by every engine and prints what each has read.

read.py TABLE [WHERE]   WHERE is "column=value" for an integer column or
                        "column@microseconds" for a timestamp

One JSON object: by engine the list of its rows, each as canonical JSON, or its
error as text.

Floats are printed as the hex of their bits, so that NaN, infinities and -0.0
are told apart; bytes as hex; timestamps as microseconds since the epoch.
"""

import datetime
import json
import math
import pathlib
import struct
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def utc(micros: int) -> pa.Scalar:
    return pa.scalar(micros, pa.timestamp("us", tz="UTC"))


def predicate(where: str):
    """Returns the filter of pyarrow."""
    if not where:
        return None
    if "@" in where:
        column, value = where.split("@")
        return pc.field(column) == utc(int(value))
    column, value = where.split("=")
    return pc.field(column) == int(value)


def delta_rs(table: str, where: str) -> pa.Table:
    from deltalake import DeltaTable, QueryBuilder

    query = "select * from t"
    if "@" in where:
        column, value = where.split("@")
        query += f" where {column} = to_timestamp_micros({value})"
    elif where:
        query += f" where {where}"
    return pa.table(QueryBuilder().register("t", DeltaTable(table)).execute(query))


def delta_rs_dataset(table: str, where: str) -> pa.Table:
    from deltalake import DeltaTable

    return DeltaTable(table).to_pyarrow_table(filters=predicate(where))


def pyarrow(table: str, where: str) -> pa.Table:
    """Reads the files that the log names, and none of the log's statistics."""
    from deltalake import DeltaTable

    t = DeltaTable(table)
    schema = pa.schema(t.schema().to_arrow())
    files = [str(pathlib.Path(u.removeprefix("file://"))) for u in t.file_uris()]
    return ds.dataset(files, schema=schema).to_table(filter=predicate(where))


def duckdb(table: str, where: str) -> pa.Table:
    import duckdb as db
    import duckdb_extension_delta

    folder = pathlib.Path(duckdb_extension_delta.__file__).parent / "extensions" / f"v{db.__version__}"
    con = db.connect(config={"allow_unsigned_extensions": "false"})
    con.execute(f"load '{folder / 'delta.duckdb_extension'}'")
    query = f"select * from delta_scan('{table}')"
    if "@" in where:
        column, value = where.split("@")
        query += f" where {column} = timestamptz '{EPOCH + datetime.timedelta(microseconds=int(value))}'"
    elif where:
        query += f" where {where}"
    return con.execute(query).to_arrow_table()


def polars(table: str, where: str) -> pa.Table:
    import polars as pl

    frame = pl.scan_delta(table)
    if "@" in where:
        column, value = where.split("@")
        frame = frame.filter(pl.col(column) == pl.lit(int(value)).cast(pl.Datetime("us", "UTC")))
    elif where:
        column, value = where.split("=")
        frame = frame.filter(pl.col(column) == int(value))
    return frame.collect().to_arrow()


ENGINES = {
    "delta-rs": delta_rs,
    "delta-rs-dataset": delta_rs_dataset,
    "pyarrow": pyarrow,
    "duckdb": duckdb,
    "polars": polars,
}


def micros(t: pa.DataType) -> pa.DataType:
    """Returns the type with its timestamps as integers."""
    if pa.types.is_timestamp(t):
        assert t.unit == "us", t
        return pa.int64()
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return pa.list_(micros(t.value_type))
    return t


def canonical(value):
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else struct.pack(">d", value).hex()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [canonical(v) for v in value]
    return value


def rows(table: pa.Table) -> list[str]:
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        columns[name] = [canonical(v) for v in column.cast(micros(column.type)).to_pylist()]
    return [
        json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        for row in zip(*columns.values(), strict=True)
    ]


def main() -> None:
    table, where = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    out = {}
    for name, read in ENGINES.items():
        try:
            out[name] = rows(read(table, where))
        except Exception as e:  # each engine has errors of its own
            out[name] = f"{type(e).__name__}: {e}"
    print(json.dumps(out))


main()
