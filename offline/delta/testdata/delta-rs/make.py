"""Makes the tables of this folder with delta-rs (deltalake 1.6.6, pyarrow 26.0.1).

    python make.py            # in this folder; replaces what is there

Beside each table stands what delta-rs itself says about every version of it:
the test holds our reading of the log to that.
"""

import json
import pathlib
import shutil
from datetime import datetime, timezone
from urllib.parse import unquote

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

HERE = pathlib.Path(__file__).parent


def ts(*args):
    return datetime(*args, tzinfo=timezone.utc)


def fresh(name):
    path = HERE / name
    shutil.rmtree(path, ignore_errors=True)
    return str(path)


def describe(path):
    table = DeltaTable(path)
    versions = {}
    for version in range(table.version() + 1):
        table.load_as_version(version)
        actions = pa.table(table.get_add_actions(flatten=False)).to_pylist()
        protocol = table.protocol()
        versions[version] = {
            "rows": sum(a["num_records"] for a in actions),
            "files": sorted(
                [
                    {"path": unquote(a["path"]), "size": a["size_bytes"], "rows": a["num_records"],
                     "partition": {k: v for k, v in (a.get("partition") or {}).items() if v is not None}}
                    for a in actions
                ],
                key=lambda f: f["path"],
            ),
            "columns": [f.name for f in table.schema().fields],
            "types": [json.loads(f.type.to_json()) for f in table.schema().fields],
            "reader": protocol.min_reader_version,
            "writer": protocol.min_writer_version,
        }
    with open(path + ".json", "w") as out:
        json.dump(versions, out, indent=1, sort_keys=True)
        out.write("\n")


def types():
    path = fresh("types")
    schema = pa.schema([
        pa.field("k", pa.int64(), nullable=False), pa.field("b", pa.bool_()), pa.field("i", pa.int32()),
        pa.field("f", pa.float32()), pa.field("d", pa.float64()), pa.field("s", pa.string()),
        pa.field("raw", pa.binary()), pa.field("ts", pa.timestamp("us", "UTC")), pa.field("l", pa.list_(pa.int64())),
    ])
    rows = [
        dict(k=2**53 + 1, b=True, i=-1, f=0.5, d=-0.0, s="é", raw=b"\xff", ts=ts(2024, 1, 1, 10, 0, 0, 123456), l=[1, None]),
        dict(k=-2**63, b=None, i=None, f=None, d=None, s=None, raw=None, ts=None, l=None),
    ]
    write_deltalake(path, pa.Table.from_pylist(rows, schema), mode="append")
    write_deltalake(path, pa.Table.from_pylist(rows[:1], schema), mode="append",
                    commit_properties=CommitProperties(app_transactions=[Transaction("loader", 7)]))
    DeltaTable(path).create_checkpoint()
    write_deltalake(path, pa.Table.from_pylist(rows[1:], schema), mode="append",
                    commit_properties=CommitProperties(app_transactions=[Transaction("loader", 8)]))
    describe(path)


def partitioned():
    path = fresh("partitioned")
    schema = pa.schema([("p", pa.string()), ("n", pa.int32()), ("v", pa.int64())])
    for i, p in enumerate(["plain", "with space", "a/b:c%20=d", "ünï", None]):
        write_deltalake(path, pa.Table.from_pylist([dict(p=p, n=i, v=i * 10)], schema), mode="append", partition_by=["p", "n"])
    describe(path)


def changed():
    path = fresh("changed")
    for i in range(4):
        write_deltalake(path, pa.table({"k": pa.array([i, i + 100], pa.int64())}), mode="append")
    DeltaTable(path).delete("k = 1")
    DeltaTable(path).create_checkpoint()
    DeltaTable(path).optimize.compact()
    write_deltalake(path, pa.table({"k": pa.array([7], pa.int64()), "new": pa.array(["x"])}), mode="append", schema_mode="merge")
    DeltaTable(path).restore(2)
    describe(path)


def refused():
    write_deltalake(fresh("date"), pa.table({"k": pa.array([1], pa.int64()), "day": pa.array([0], pa.date32())}))
    write_deltalake(fresh("ntz"), pa.table({"at": pa.array([0], pa.timestamp("us"))}))
    write_deltalake(fresh("cdf"), pa.table({"k": pa.array([1], pa.int64())}), configuration={"delta.enableChangeDataFeed": "true"})


types()
partitioned()
changed()
refused()
