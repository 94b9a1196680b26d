package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
)

// TestConfig runs testdata: "load" reads a file, with the environment given as
// arguments, and prints the effective configuration or each fault.
func TestConfig(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		t.Helper()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			require.Equal(t, "load", d.Cmd)
			env := map[string]string{}
			for _, arg := range d.CmdArgs {
				env[arg.Key] = strings.Join(arg.Vals, ",")
			}
			c, err := Parse("granary.yaml", []byte(d.Input), lookup(env))
			if err != nil {
				return printFaults(err)
			}
			out, err := c.YAML()
			require.NoError(t, err)
			return string(out)
		})
	})
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
}

func printFaults(err error) string {
	faults := feature.FaultsOf(err)
	if len(faults) == 0 {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, f := range faults {
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}

func TestLoadMissing(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), FileName), os.LookupEnv)
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err))
	require.ErrorContains(t, err, "granary init")
}

func TestPathsStartAtTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	require.NoError(t, os.WriteFile(path, []byte("storage: s3://bucket/granary\nonline: {path: /var/lib/granary}\n"), 0o600))
	c, err := Load(path, os.LookupEnv)
	require.NoError(t, err)
	require.Equal(t, "s3://bucket/granary", c.StorageURL())
	require.Equal(t, "/var/lib/granary", c.OnlinePath())
	require.Equal(t, []string{filepath.Join(filepath.Dir(path), "features.yaml")}, c.DefinitionPaths())
	require.Equal(t, filepath.Dir(path), c.Dir())
}

// TestPrintedLoads reads what is printed, which must mean the same.
func TestPrintedLoads(t *testing.T) {
	env := lookup(map[string]string{"STORE": "/data", "SECRET": "s3cr3t"})
	first, err := Parse("granary.yaml", []byte("storage: ${STORE}/x\nserver: http://u:${SECRET}@127.0.0.1:1\nonline: {cache: 1536MiB}\n"), env)
	require.NoError(t, err)
	out, err := first.YAML()
	require.NoError(t, err)
	require.NotContains(t, string(out), "s3cr3t")
	second, err := Parse("granary.yaml", out, env)
	require.NoError(t, err)
	require.Equal(t, first, second)
}

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{"0B": 0, "512B": 512, "1KiB": 1 << 10, "1536MiB": 1536 << 20, "3GiB": 3 << 30} {
		got, err := ParseSize(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
	for _, text := range []string{"", "12", "1.5GiB", "-1B", "9999999999TiB", "5MB"} {
		_, err := ParseSize(text)
		require.ErrorContains(t, err, "is not a size", text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("storage: x\nonline: {path: ${A}}\n")
	f.Add("&a [*a]")
	f.Add("serve: {listen: 1}\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse("granary.yaml", []byte(text), lookup(map[string]string{"A": "b"}))
		if err != nil {
			return
		}
		_, err = c.YAML()
		require.NoError(t, err)
	})
}
