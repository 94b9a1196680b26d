package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/granary-ml/granary"

// pkg is what `go list` tells of a package.
type pkg struct {
	ImportPath   string   `json:"ImportPath"`
	Doc          string   `json:"Doc"`
	Dir          string   `json:"Dir"`
	GoFiles      []string `json:"GoFiles"`
	TestGoFiles  []string `json:"TestGoFiles"`
	XTestGoFiles []string `json:"XTestGoFiles"`
	Imports      []string `json:"Imports"`
}

// name returns the path of the package in the module: "online/pebblestore".
func (p pkg) name() string { return local(p.ImportPath) }

// local returns the path of a package of ours in the module, "." for the root,
// or an empty string for a package of others.
func local(importPath string) string {
	if importPath == module {
		return "."
	}
	name, ok := strings.CutPrefix(importPath, module+"/")
	if !ok {
		return ""
	}
	return name
}

// packages returns all packages of the module.
func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Doc,Dir,GoFiles,TestGoFiles,XTestGoFiles,Imports", module+"/...")
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

// rule forbids imports. From and To are packages of the module as patterns: a
// path, or a path with "/..." for it and all below it. Where Only is set, From
// may import nothing of the module but it; where Except is set, the packages
// that match it are free of the rule.
type rule struct {
	From, To []string
	Only     []string
	Except   []string
	Reason   string
}

// leaves are the small packages that know nothing of the feature store.
var leaves = []string{"internal/clock", "internal/keyenc", "internal/invariants"}

// shared are the packages that everything above the vocabulary may use.
var shared = []string{"feature", "internal/clock", "internal/keyenc", "internal/invariants", "internal/columns", "internal/strictjson"}

// rules are the direction of imports of ARCHITECTURE.md.
var rules = []rule{
	{
		From: leaves, Only: []string{},
		Reason: "a leaf imports the standard library only, so that everything can import it: move the code up",
	},
	{
		From: []string{"feature"}, Only: leaves,
		Reason: "feature is the vocabulary that everything shares and does no I/O: move the code to the package that needs it",
	},
	{
		From: []string{"api/wire"}, Only: []string{"feature"},
		Reason: "wire is linked by clients: a type that needs more than feature belongs to the server",
	},
	{
		From: []string{"registry/..."}, To: []string{"online/...", "offline/...", "ingest/...", "api", "internal/serving"},
		Reason: "definitions do not depend on a store: take registry.Storage, and do what touches stores in internal/serving",
	},
	{
		From: []string{"online/..."}, To: []string{"offline/...", "registry/...", "ingest/...", "api/..."},
		Reason: "online and offline do not know each other: what joins them is ingest and internal/serving",
	},
	{
		From: []string{"offline/..."}, To: []string{"online/...", "registry/...", "ingest/...", "api"},
		Reason: "online and offline do not know each other: what joins them is ingest and internal/serving",
	},
	{
		From: []string{"offline/bucket/...", "offline/delta/...", "offline/parquetio/...", "offline/pit/..."}, To: []string{"offline"},
		Reason: "the parts of offline do not know the whole: take what is needed as an argument",
	},
	{
		From: []string{"offline/pit/..."}, Only: []string{"feature"},
		Reason: "the join is pure, positions out: Arrow, files and time belong to offline",
	},
	{
		From: []string{"ingest/...", "internal/serving/..."}, To: []string{"online/pebblestore", "online/redisstore"},
		Reason: "take the interfaces of online: which backend it is, is decided in internal/wiring",
	},
	{
		From: []string{"..."}, To: []string{"api", "api/feastapi"},
		Except: []string{"api/...", "cmd/...", "bench/...", "examples/..."},
		Reason: "the HTTP surface is on top: what others need of it is api/wire or internal/serving",
	},
	{
		From: []string{"..."}, To: []string{"internal/wiring"},
		Except: []string{"internal/wiring", "cmd/...", "bench/...", "examples/...", "internal/metamorphic"},
		Reason: "wiring knows every backend: take an interface, and let cmd/granary connect it",
	},
	{
		From: []string{"sdk/..."}, Only: append([]string{"api/wire"}, shared...),
		Reason: "the client links no engine and no server: talk HTTP, or move the type to api/wire",
	},
}

// match tells whether name is one of the patterns.
func match(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, wide := strings.CutSuffix(pattern, "...")
		prefix = strings.TrimSuffix(prefix, "/")
		return name == pattern || wide && (prefix == "" || name == prefix || strings.HasPrefix(name, prefix+"/"))
	})
}

// faults returns the imports of p that the rule forbids.
func (r rule) faults(p pkg) []string {
	if !match(p.name(), r.From) || match(p.name(), r.Except) {
		return nil
	}
	var out []string
	for _, imported := range p.Imports {
		to := local(imported)
		own := len(r.Only) > 0 && match(to, r.From)
		if to == "" || own || !match(to, r.To) && (r.Only == nil || match(to, r.Only)) {
			continue
		}
		out = append(out, fmt.Sprintf("%s imports %s: %s", p.name(), to, r.Reason))
	}
	return out
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		for _, r := range rules {
			for _, fault := range r.faults(p) {
				t.Error(fault)
			}
		}
	}
}

// TestImportsOfTestPackages keeps the helpers of tests out of the binary.
func TestImportsOfTestPackages(t *testing.T) {
	helper := func(name string) bool {
		return strings.HasSuffix(path.Base(name), "test") || name == "internal/testutil"
	}
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			if to := local(imported); helper(to) && !helper(p.name()) {
				t.Errorf("%s imports %s: only tests may; what both need belongs to a package of its own", p.name(), to)
			}
		}
	}
}

func TestRules(t *testing.T) {
	of := func(name string, imports ...string) pkg {
		p := pkg{ImportPath: module + "/" + name}
		for _, i := range imports {
			p.Imports = append(p.Imports, module+"/"+i)
		}
		return p
	}
	for _, c := range []struct {
		pkg  pkg
		want []string
	}{
		{of("feature", "internal/keyenc"), nil},
		{of("feature", "registry"), []string{"feature imports registry"}},
		{of("internal/clock", "feature"), []string{"internal/clock imports feature"}},
		{of("registry", "feature", "online"), []string{"registry imports online"}},
		{of("online/pebblestore", "online", "offline/bucket"), []string{"online/pebblestore imports offline/bucket"}},
		{of("offline", "offline/pit", "api/wire", "online"), []string{"offline imports online"}},
		{of("offline/delta", "offline/bucket", "offline"), []string{"offline/delta imports offline"}},
		{of("offline/pit", "feature", "internal/columns"), []string{"offline/pit imports internal/columns"}},
		{of("ingest", "online", "online/pebblestore"), []string{"ingest imports online/pebblestore"}},
		{of("sdk", "feature", "api/wire", "registry"), []string{"sdk imports registry"}},
		{of("internal/serving", "api"), []string{"internal/serving imports api"}},
		{of("cmd/granary", "api", "internal/wiring", "sdk"), nil},
	} {
		var got []string
		for _, r := range rules {
			got = append(got, r.faults(c.pkg)...)
		}
		require.Len(t, got, len(c.want), "%s: %v", c.pkg.name(), got)
		for i := range c.want {
			require.Contains(t, got[i], c.want[i])
		}
	}
}
