package registry

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// folder is a storage that reads the files of a folder.
type folder string

func (f folder) Get(_ context.Context, key string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(string(f), filepath.Base(key)))
	if err != nil {
		return nil, feature.Errorf(feature.CodeNotFound, "", "", "%w", err)
	}
	return data, nil
}

func (f folder) PutIfAbsent(context.Context, string, []byte) error {
	return feature.Errorf(feature.CodePermissionDenied, "", "", "files of a released format are not written")
}

// TestFormatV1 opens files that the first release wrote. They open for ever:
// when this test fails, the code is at fault and not the files.
func TestFormatV1(t *testing.T) {
	r, err := Open(t.Context(), folder("testdata/format_v1"), Options{})
	require.NoError(t, err)
	s := r.Snapshot()
	require.Equal(t, int64(5), s.Revision())
	require.Equal(t, []string{"demo", "other"}, s.Projects())
	d, err := s.Definitions("demo")
	require.NoError(t, err)
	text, err := MarshalYAML(d)
	require.NoError(t, err)
	want, err := os.ReadFile("testdata/format_v1/definitions.yaml")
	require.NoError(t, err)
	require.Equal(t, string(want), string(text))

	view, err := s.View("demo", "weather")
	require.NoError(t, err)
	require.Equal(t, feature.ViewID(2), view.ID)
	require.Equal(t, []int{0, 2}, view.Slots, "gust was taken away by a rollback and keeps its slot")
	require.Equal(t, []feature.Type{feature.Float64, feature.Float64, feature.ListOf(feature.String)}, view.SlotTypes)

	history, err := r.History(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, history, 5)
	require.Equal(t, "rollback to revision 1", history[2].Message)
}

// TestEncodeCanonical: one content has one spelling, also after years.
func TestEncodeCanonical(t *testing.T) {
	files, err := filepath.Glob("testdata/format_v1/*.json")
	require.NoError(t, err)
	require.Len(t, files, 5)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		file, _, err := decodeRevision(data)
		require.NoError(t, err, name)
		again, err := encodeRevision(file)
		require.NoError(t, err)
		require.Equal(t, string(data), string(again), name)
	}
}

func TestDecodeDamaged(t *testing.T) {
	data, err := os.ReadFile("testdata/format_v1/00000000000000000005.json")
	require.NoError(t, err)
	// Every cut and every flipped bit is noticed.
	for i := range len(data) - 1 {
		_, _, err := decodeRevision(data[:i])
		require.Equal(t, feature.CodeDataLoss, feature.CodeOf(err), "cut at %d: %v", i, err)
	}
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 0x10
		file, _, err := decodeRevision(bad)
		if err == nil { // a blank of the last line break, or another spelling of the digits' case
			require.GreaterOrEqual(t, i, len(data)-1, "byte %d was flipped: %+v", i, file)
			continue
		}
		require.Contains(t, []feature.Code{feature.CodeDataLoss, feature.CodeFailedPrecondition}, feature.CodeOf(err), "byte %d: %v", i, err)
	}
}

// wrapRevision makes a file of the JSON of a revision.
func wrapRevision(format, raw string) []byte {
	return []byte(`{"format":` + format + `,"sha256":"` + hashOf([]byte(raw)) + `","revision":` + raw + "}\n")
}

func TestDecodeRefuses(t *testing.T) {
	view := func(id, slots string) string {
		return `{"id":` + id + `,"slots":` + slots + `,"definition":{"name":"f","entities":["e"],"features":[{"name":"v","type":"int64"}]}}`
	}
	revision := func(project string) string {
		return `{"revision":7,"writer":"w","time":"2024-01-01T00:00:00Z","project":"p","changes":[],"state":{"next_view":3,"projects":{"p":` + project + `}}}`
	}
	const entity = `"entities":[{"name":"e","join_keys":[{"name":"k","type":"int64"}]}]`
	const slots = `[{"name":"v","type":"int64"}]`
	good := revision(`{` + entity + `,"views":[` + view("1", slots) + `]}`)
	_, err := decodeSnapshot(wrapRevision("1", good), 7)
	require.NoError(t, err)

	for _, c := range []struct {
		name, file string
		revision   int64
		code       feature.Code
		want       string
	}{
		{"newer format", `{"format":2,"anything":[]}`, 7, feature.CodeFailedPrecondition, "format 2"},
		{"no format", string(wrapRevision("0", good)), 7, feature.CodeDataLoss, "no format number"},
		{"another number", string(wrapRevision("1", good)), 8, feature.CodeDataLoss, "holds revision 7"},
		{"negative number", string(wrapRevision("1", strings.Replace(good, ":7", ":-7", 1))), 7, feature.CodeDataLoss, "number -7"},
		{"unknown member", string(wrapRevision("1", strings.Replace(good, `"writer"`, `"x":1,"writer"`, 1))), 7, feature.CodeDataLoss, "no such member"},
		{"null project", string(wrapRevision("1", revision("null"))), 7, feature.CodeDataLoss, "null"},
		{"id 0", string(wrapRevision("1", revision(`{`+entity+`,"views":[`+view("0", slots)+`]}`))), 7, feature.CodeDataLoss, "id 0"},
		{"id not given yet", string(wrapRevision("1", revision(`{`+entity+`,"views":[`+view("3", slots)+`]}`))), 7, feature.CodeDataLoss, "id 3"},
		{"id twice", string(wrapRevision("1", revision(`{`+entity+`,"views":[`+view("1", slots)+`,`+view("1", slots)+`]}`))), 7, feature.CodeDataLoss, "id 1"},
		{"no entity", string(wrapRevision("1", revision(`{"views":[`+view("1", slots)+`]}`))), 7, feature.CodeDataLoss, "entity e"},
		{"no slot", string(wrapRevision("1", revision(`{`+entity+`,"views":[`+view("1", "[]")+`]}`))), 7, feature.CodeDataLoss, "no slot"},
		{"slot type", string(wrapRevision("1", revision(`{`+entity+`,"views":[`+view("1", `[{"name":"v","type":"bool"}]`)+`]}`))), 7, feature.CodeDataLoss, "no slot"},
		{"source", string(wrapRevision("1", revision(`{`+entity+`,"views":[`+strings.Replace(view("1", slots), `"name":"f"`, `"name":"f","source":"s"`, 1)+`]}`))), 7, feature.CodeDataLoss, "source s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := decodeSnapshot([]byte(c.file), c.revision)
			require.Error(t, err)
			require.Equal(t, c.code, feature.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "revision")
		})
	}
}

// TestAdvance: a slow reader does not put an older revision in place of a newer
// one.
func TestAdvance(t *testing.T) {
	r, err := Open(t.Context(), folder("testdata/format_v1"), Options{})
	require.NoError(t, err)
	newest := r.Snapshot()
	old, err := r.At(t.Context(), 2)
	require.NoError(t, err)
	require.Same(t, newest, r.advance(old))
	require.Same(t, newest, r.Snapshot())
}

// TestViewIDsExhausted: the last id is not given out, and none is used again.
func TestViewIDsExhausted(t *testing.T) {
	base := emptySnapshot()
	base.file.State.NextView = math.MaxUint32 - 1
	want := feature.Definitions{
		Entities: []feature.Entity{{Name: "e", JoinKeys: []feature.JoinKey{{Name: "k", Type: feature.Int64}}}},
		Views: []feature.View{
			{Name: "f", Entities: []string{"e"}, Features: []feature.Feature{{Name: "v", Type: feature.Int64}}},
			{Name: "g", Entities: []string{"e"}, Features: []feature.Feature{{Name: "v", Type: feature.Int64}}},
		},
	}
	u := applyUpdate("registry.Apply", "demo", wire.ApplyRequest{Definitions: want})
	_, err := u.propose(base)
	require.Equal(t, feature.CodeResourceExhausted, feature.CodeOf(err), "%v", err)
	u = applyUpdate("registry.Apply", "demo", wire.ApplyRequest{Definitions: feature.Definitions{Entities: want.Entities, Views: want.Views[:1]}})
	p, err := u.propose(base)
	require.NoError(t, err)
	require.Equal(t, feature.ViewID(math.MaxUint32), p.nextView)
}

func FuzzDecodeRevision(f *testing.F) {
	files, err := filepath.Glob("testdata/format_v1/*.json")
	require.NoError(f, err)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
		// The revision alone, for the hash would keep the fuzzer out.
		file, _, err := decodeRevision(data)
		require.NoError(f, err)
		raw, err := encodeRevision(file)
		require.NoError(f, err)
		_, body, _ := bytes.Cut(bytes.TrimSpace(raw), []byte(`"revision":`))
		f.Add(bytes.TrimSuffix(body, []byte("}")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, candidate := range [][]byte{data, wrapRevision("1", string(data))} {
			file, hash, err := decodeRevision(candidate)
			if err != nil {
				require.Contains(t, []feature.Code{feature.CodeDataLoss, feature.CodeFailedPrecondition}, feature.CodeOf(err))
				continue
			}
			s, err := newSnapshot(file, hash)
			if err != nil {
				require.Equal(t, feature.CodeDataLoss, feature.CodeOf(err))
				continue
			}
			// What opens can be written again and reads the same.
			again, err := encodeRevision(s.file)
			require.NoError(t, err)
			file, _, err = decodeRevision(again)
			require.NoError(t, err)
			twice, err := encodeRevision(file)
			require.NoError(t, err)
			require.Equal(t, string(again), string(twice))
		}
	})
}
