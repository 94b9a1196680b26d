"""Compares what TestForeign wrote with what pyarrow reads of the same files.

    go test -tags foreign -run TestForeign ./offline/parquetio -foreign DIR -foreign-out OUT
    python compare.py DIR OUT

Values are compared as Python sees them, less what Arrow can only name differently: the unit of an
INT96, text that pyarrow leaves as bytes, and names within lists.
"""

import argparse
import datetime
import decimal
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def plain(value):
    """A value with the differences of naming taken out."""
    if isinstance(value, dict):
        return tuple(plain(v) for v in value.values())
    if isinstance(value, (list, tuple)):
        return tuple(plain(v) for v in value)
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    if isinstance(value, decimal.Decimal):
        return str(value)
    if hasattr(value, "bytes") and not isinstance(value, bytes):
        return value.bytes
    return value


def integers(kind):
    """The type with timestamps as integers, because Python's end at the year 9999."""
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(integers(f.type)) for f in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(integers(kind.value_type)))
    return kind


def rows(table):
    """The columns as lists."""
    out = []
    for column in table.columns:
        if isinstance(column.type, pa.BaseExtensionType):
            column = pa.chunked_array([c.storage for c in column.chunks], column.type.storage_type)
        out.append([plain(v) for v in column.cast(integers(column.type)).to_pylist()])
    return out


def main() -> None:
    """Prints a line for each file that differs, and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    flags = parser.parse_args()
    equal = different = refused_both = refused_ours = refused_theirs = 0
    for path in sorted(p for p in flags.data.rglob("*") if ".parquet" in p.name and p.suffix != ".json" and p.is_file()):
        stem = str(path.relative_to(flags.data)).replace("/", "__")
        ours = flags.out / f"{stem}.arrow"
        theirs = None
        try:
            theirs = pq.ParquetFile(path, coerce_int96_timestamp_unit="us").read()
        except Exception as error:  # noqa: BLE001 - whatever they say is their refusal
            reason = str(error).splitlines()[0][:100]
        if not ours.exists():
            said = (flags.out / f"{stem}.refused").read_text()
            if theirs is None:
                refused_both += 1
                print(f"both refuse {stem}: {reason} | {said}")
            else:
                refused_ours += 1
                print(f"we refuse {stem}: {said}")
            continue
        if theirs is None:
            refused_theirs += 1
            print(f"they refuse {stem}: {reason}")
            continue
        with pa.OSFile(str(ours)) as source:
            table = pa.ipc.open_file(source).read_all()
        if table.column_names == theirs.column_names and rows(table) == rows(theirs):
            equal += 1
            continue
        different += 1
        print(f"DIFFERENT {stem}")
        for name, a, b in zip(theirs.column_names, rows(table), rows(theirs)):
            if a != b:
                at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
                print(f"  {name}: {table.schema.field(name).type} / {theirs.schema.field(name).type}, row {at}: {a[at:at+1]} / {b[at:at+1]}")
    print(f"{equal} equal, {different} different, refused: {refused_both} by both, {refused_ours} by us, {refused_theirs} by pyarrow")


if __name__ == "__main__":
    main()
