package offline_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/bucket/buckettest"
)

// manyFiles makes every append write several files.
var manyFiles = offline.Options{FileRows: 2, MemoryLimit: 1}

func someRows(t *testing.T, v *feature.BoundView, from, n int64) []feature.Row {
	t.Helper()
	var rows []feature.Row
	for i := range n {
		rows = append(rows, row(t, v, from+i, at(0), at(0), feature.Int64Value(from+i)))
	}
	return rows
}

func keysIn(t *testing.T, s *offline.Store, v *feature.BoundView) []string {
	t.Helper()
	reader, err := s.Scan(t.Context(), v, offline.ScanRequest{Columns: []string{"k"}})
	require.NoError(t, err)
	return texts(drain(t, reader, []feature.Type{feature.Int64}))
}

// forEveryCut runs work on a bucket that dies at its n-th change, before and
// after the change has its effect, for every n that there is.
func forEveryCut(t *testing.T, work func(t *testing.T, b bucket.Bucket, faulty *buckettest.Faults)) {
	t.Helper()
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			require.Less(t, n, 100)
			b := memBucket(t)
			faulty := buckettest.NewFaults(b, 1, buckettest.Fault{Op: buckettest.Mutation, Nth: n, After: after, Kill: true})
			work(t, b, faulty)
			if faulty.Surfaced(0) == 0 {
				require.Greater(t, n, 3)
				break
			}
		}
	}
}

// TestAppendIsCutAnywhere kills the process at every step of a commit: either
// all rows are there or none, and the same batch again lands once.
func TestAppendIsCutAnywhere(t *testing.T) {
	forEveryCut(t, func(t *testing.T, b bucket.Bucket, faulty *buckettest.Faults) {
		t.Helper()
		v := numbers(1)
		dir := t.TempDir()
		before := someRows(t, v, 0, 2)
		load(t, openStore(t, b, offline.Options{}), v, before)

		o := manyFiles
		o.TempDir = dir
		key := offline.AppendOptions{IdempotencyKey: "b"}
		out, err := tryLoad(t, openStore(t, faulty, o), v, someRows(t, v, 10, 5), key)
		if faulty.Surfaced(0) > 0 && out.Rows == 0 {
			require.Error(t, err)
		}
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left, "no run is left")

		s := openStore(t, b, manyFiles)
		require.Contains(t, []int{2, 7}, len(keysIn(t, s, v)))
		_, err = tryLoad(t, s, v, someRows(t, v, 10, 5), key)
		require.NoError(t, err)
		require.Equal(t, []string{"0", "1", "10", "11", "12", "13", "14"}, keysIn(t, s, v))
	})
}

// TestEraseIsCutAnywhere does the same with an erasure.
func TestEraseIsCutAnywhere(t *testing.T) {
	forEveryCut(t, func(t *testing.T, b bucket.Bucket, faulty *buckettest.Faults) {
		t.Helper()
		v := numbers(1)
		load(t, openStore(t, b, manyFiles), v, someRows(t, v, 0, 5))
		gone := []feature.EntityKey{entity(t, v, 1), entity(t, v, 2), entity(t, v, 4)}
		_, err := openStore(t, faulty, manyFiles).Erase(t.Context(), v, gone)
		s := openStore(t, b, manyFiles)
		if n := len(keysIn(t, s, v)); err == nil || n != 5 {
			require.Equal(t, 2, n)
		}
		_, err = s.Erase(t.Context(), v, gone)
		require.NoError(t, err)
		require.Equal(t, []string{"0", "3"}, keysIn(t, s, v))
	})
}

// TestReadsFailWhole lets every read of the bucket fail once: the answer is an
// error of its code, never fewer rows.
func TestReadsFailWhole(t *testing.T) {
	b := memBucket(t)
	v := numbers(1)
	load(t, openStore(t, b, manyFiles), v, someRows(t, v, 0, 5))
	reads := map[string]func(t *testing.T, s *offline.Store) (int, error){
		"scan": func(t *testing.T, s *offline.Store) (int, error) {
			t.Helper()
			reader, err := s.Scan(t.Context(), v, offline.ScanRequest{})
			if err != nil {
				return 0, err
			}
			rows, err := tryDrain(t, reader, typesOf(v))
			return len(rows), err
		},
		"newest": func(t *testing.T, s *offline.Store) (int, error) {
			t.Helper()
			reader, err := s.Newest(t.Context(), v, offline.NewestRequest{Before: at(1)})
			if err != nil {
				return 0, err
			}
			rows, err := tryDrain(t, reader, typesOf(v))
			return len(rows), err
		},
		"historical": func(t *testing.T, s *offline.Store) (int, error) {
			t.Helper()
			var rows [][]feature.Value
			for k := range int64(5) {
				rows = append(rows, []feature.Value{feature.Int64Value(k), feature.TimestampValue(at(0))})
			}
			reader, err := s.Historical(t.Context(), offline.HistoricalRequest{
				Spine: spineOf(t, spineColumns, rows, 5), TimeColumn: "at", Selection: selectAll(v),
			})
			if err != nil {
				return 0, err
			}
			got, err := tryDrain(t, reader, append([]feature.Type{feature.Int64, feature.TimestampType}, feature.Int64))
			found := 0
			for _, r := range got {
				if !r[2].IsNull() {
					found++
				}
			}
			return found, err
		},
	}
	for name, read := range reads {
		for n := 1; ; n++ {
			require.Less(t, n, 100)
			faulty := buckettest.NewFaults(b, 1, buckettest.Fault{Op: buckettest.ReadRange, Key: "*.parquet", Nth: n})
			rows, err := read(t, openStore(t, faulty, offline.Options{}))
			if faulty.Surfaced(0) == 0 {
				require.NoError(t, err, name)
				require.Equal(t, 5, rows, name)
				require.Greater(t, n, 3)
				break
			}
			require.Equal(t, feature.CodeUnavailable, feature.CodeOf(err), "%s: %v", name, err)
		}
	}
}

// TestFullDisk meets a full bucket: the error says so, and nothing is left of
// the batch.
func TestFullDisk(t *testing.T) {
	b := memBucket(t)
	full := feature.Errorf(feature.CodeResourceExhausted, "bucket.Write", "", "%w", syscall.ENOSPC)
	faulty := buckettest.NewFaults(b, 1, buckettest.Fault{Op: buckettest.Write, Key: "*.parquet", Nth: 2, Times: -1, Err: full})
	v := numbers(1)
	_, err := tryLoad(t, openStore(t, faulty, manyFiles), v, someRows(t, v, 0, 5), offline.AppendOptions{})
	require.Equal(t, feature.CodeResourceExhausted, feature.CodeOf(err), "%v", err)
	faulty.RequireSurfaced(t)
	require.Empty(t, keysOf(t, b))
}

// TestDamagedFile reads a file whose bytes were changed: an error that names it.
func TestDamagedFile(t *testing.T) {
	source := memBucket(t)
	v := numbers(1)
	load(t, openStore(t, source, offline.Options{}), v, someRows(t, v, 0, 100))
	b := memBucket(t)
	damaged := ""
	for _, key := range keysOf(t, source) {
		data, err := source.Get(t.Context(), key)
		require.NoError(t, err)
		if len(key) > 8 && key[len(key)-8:] == ".parquet" {
			damaged = key
			for i := range 40 {
				data[4+i] ^= 0xff
			}
		}
		require.NoError(t, b.PutIfAbsent(t.Context(), key, data))
	}
	reader, err := openStore(t, b, offline.Options{}).Scan(t.Context(), v, offline.ScanRequest{})
	require.NoError(t, err)
	_, err = tryDrain(t, reader, typesOf(v))
	require.Equal(t, feature.CodeDataLoss, feature.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "file "+damaged)
}
