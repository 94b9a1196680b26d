package delta

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/offline/bucket"
)

// script runs the golden scripts of testdata/log. Writers have names; each has a
// log of its own on one bucket, as processes have.
type script struct {
	t     *testing.T
	b     bucket.Bucket
	clock *clock.Manual
	logs  map[string]*Log
	reads map[string]*Snapshot // by writer: what its next commit was computed from
	ids   int
}

// TestLogGolden runs what stands in testdata/log:
//
//	create <column>:<type>… [partition=<column>]
//	read writer=<w>                              remember the newest snapshot
//	commit writer=<w> [blind] [add=f] [remove=f] [app=id:version] [column=name:type]
//	entry version=<n>                            the log entry as it stands
//	table [version=<n>]                          what a new reader sees
func TestLogGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/log", func(t *testing.T, path string) {
		t.Helper()
		b, err := bucket.Open(t.Context(), "mem://", bucket.Options{})
		require.NoError(t, err)
		s := &script{
			t: t, b: b, clock: clock.NewManual(time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC)),
			logs: map[string]*Log{}, reads: map[string]*Snapshot{},
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			s.clock.Advance(1500 * time.Microsecond)
			out, err := s.run(d)
			if err != nil {
				return fmt.Sprintf("%s: %v\n", feature.CodeOf(err), err)
			}
			return out
		})
	})
}

func (s *script) log(writer string) *Log {
	l, ok := s.logs[writer]
	if !ok {
		l = New(s.b, "t", Options{Clock: s.clock, CheckpointEvery: -1})
		l.newID = func() string {
			s.ids++
			return fmt.Sprintf("id-%d", s.ids)
		}
		s.logs[writer] = l
	}
	return l
}

func (s *script) run(d *datadriven.TestData) (string, error) {
	writer := "w"
	d.MaybeScanArgs(s.t, "writer", &writer)
	l := s.log(writer)
	switch d.Cmd {
	case "create":
		m := Metadata{Name: "t"}
		for _, arg := range d.CmdArgs {
			if arg.Key == "partition" {
				m.PartitionColumns = arg.Vals
				continue
			}
			m.Fields = append(m.Fields, parseField(s.t, arg.Key))
		}
		v, err := l.Create(s.t.Context(), m)
		return fmt.Sprintf("version %d\n", v), err
	case "read":
		snap, err := l.Snapshot(s.t.Context())
		if err != nil {
			return "", err
		}
		s.reads[writer] = snap
		return fmt.Sprintf("version %d\n", snap.Version), nil
	case "commit":
		return s.commit(d, writer, l)
	case "entry":
		var version int64
		d.ScanArgs(s.t, "version", &version)
		data, err := s.b.Get(s.t.Context(), l.dir+commitFile(version))
		return string(data), err
	case "table":
		return s.table(d)
	}
	return "", fmt.Errorf("no such command: %s", d.Cmd)
}

func parseField(t *testing.T, text string) Field {
	t.Helper()
	name, typ, _ := strings.Cut(text, ":")
	typ, required := strings.CutSuffix(typ, "!")
	parsed, err := feature.ParseType(typ)
	require.NoError(t, err)
	return Field{Name: name, Type: parsed, Nullable: !required}
}

func (s *script) commit(d *datadriven.TestData, writer string, l *Log) (string, error) {
	tx := Transaction{Read: s.reads[writer]}
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "blind":
			tx.Read = nil
		case "operation":
			tx.Operation = arg.Vals[0]
		case "add":
			for _, name := range arg.Vals {
				tx.Add = append(tx.Add, File{
					Path: name, Size: 10, ModificationTime: feature.FromTime(s.clock.Now()), DataChange: true,
					Stats: Stats{Rows: 2, Columns: map[string]ColumnStats{"ts": {
						Min: feature.TimestampValue(1704103200123456), Max: feature.TimestampValue(1704103200123456), Nulls: 0,
					}}},
				})
			}
		case "remove":
			for _, name := range arg.Vals {
				tx.Remove = append(tx.Remove, File{Path: name, DataChange: true})
			}
		case "app":
			id, version, _ := strings.Cut(arg.Vals[0], ":")
			app := AppTransaction{ID: id, Version: OwnVersion}
			if version != "" {
				_, err := fmt.Sscan(version, &app.Version)
				require.NoError(s.t, err)
			}
			tx.Apps = append(tx.Apps, app)
		case "column":
			m := tx.Read.Metadata
			m.Fields = append(slices.Clip(m.Fields), parseField(s.t, arg.Vals[0]))
			tx.Metadata = &m
		}
	}
	v, err := l.Commit(s.t.Context(), tx)
	return fmt.Sprintf("version %d\n", v), err
}

func (s *script) table(d *datadriven.TestData) (string, error) {
	l := New(s.b, "t", Options{})
	version := int64(-1)
	d.MaybeScanArgs(s.t, "version", &version)
	snap, err := l.Snapshot(s.t.Context())
	if err == nil && version >= 0 {
		snap, err = l.At(s.t.Context(), version)
	}
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "version %d at %s\n", snap.Version, snap.Time)
	for _, f := range snap.Metadata.Fields {
		fmt.Fprintf(&out, "column %s %s nullable=%t\n", f.Name, f.Type, f.Nullable)
	}
	for _, f := range snap.Files {
		ts := f.Stats.Columns["ts"]
		fmt.Fprintf(&out, "file %s of %d: %d rows, ts %s to %s\n", f.Path, f.Version, f.Stats.Rows, ts.Min, ts.Max)
	}
	for _, id := range snap.apps.ids(snap.Version) {
		v, _ := snap.App(id)
		fmt.Fprintf(&out, "app %s at %d\n", id, v)
	}
	return out.String(), nil
}
