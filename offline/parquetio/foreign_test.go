//go:build foreign

package parquetio

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/stretchr/testify/require"
)

var (
	foreignDir = flag.String("foreign", "", "folder of Parquet files to read")
	foreignOut = flag.String("foreign-out", "", "folder for what was read, as Arrow files, and the refusals, as text")
)

// TestForeign reads every file below a folder in both ways. It holds that
// nothing crashes, both ways give the rows of the footer or an error, and none
// takes long; testdata/compare.py compares the values with those of pyarrow.
func TestForeign(t *testing.T) {
	read, refused := 0, 0
	err := filepath.WalkDir(*foreignDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(d.Name(), ".parquet") || strings.HasSuffix(d.Name(), ".json") {
			return err
		}
		name, err := filepath.Rel(*foreignDir, path)
		require.NoError(t, err)
		start := time.Now()
		schema, records, err := readForeign(t, path)
		require.Less(t, time.Since(start), 10*time.Second, name)
		out := filepath.Join(*foreignOut, strings.ReplaceAll(name, string(filepath.Separator), "__"))
		if err != nil {
			refused++
			t.Logf("%s: %v", name, err)
			return os.WriteFile(out+".refused", []byte(err.Error()), 0o600)
		}
		read++
		file, err := os.Create(out + ".arrow")
		require.NoError(t, err)
		w, err := ipc.NewFileWriter(file, ipc.WithSchema(schema))
		require.NoError(t, err)
		for _, rec := range records {
			require.NoError(t, w.Write(rec))
		}
		require.NoError(t, w.Close())
		return file.Close()
	})
	require.NoError(t, err)
	fmt.Printf("%d read, %d refused\n", read, refused)
}

func readForeign(t *testing.T, path string) (*arrow.Schema, []arrow.Record, error) {
	t.Helper()
	src, err := os.Open(path)
	require.NoError(t, err)
	info, err := src.Stat()
	require.NoError(t, err)
	f, err := Open(src, info.Size(), path, ReaderOptions{})
	if err != nil {
		return nil, nil, errors.Join(err, src.Close())
	}
	defer func() { require.NoError(t, f.Close()) }()
	var records []arrow.Record
	rows := int64(0)
	for i := range f.RowGroups() {
		rec, err := f.ReadRowGroup(t.Context(), i, nil)
		if err != nil {
			return nil, nil, err
		}
		rows += rec.NumRows()
		records = append(records, rec)
	}
	require.Equal(t, f.Rows(), rows)
	rows = 0
	for rec, err := range f.Records(t.Context(), ScanOptions{BatchRows: 7}) {
		require.NoError(t, err)
		rows += rec.NumRows()
	}
	require.Equal(t, f.Rows(), rows)
	return f.Schema(), records, nil
}
