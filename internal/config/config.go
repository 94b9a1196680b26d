package config

import (
	"path/filepath"
	"strings"
	"time"
)

// Config is the effective configuration: what the file says over the defaults.
type Config struct {
	// Project is the project that commands work on.
	Project string `yaml:"project"`
	// Server is the URL of a granary server; if it is given, commands ask it
	// instead of opening the stores.
	Server string `yaml:"server"`
	// Definitions are the files and folders of definitions in YAML or JSON.
	Definitions []string `yaml:"definitions"`
	// Storage is the folder or bucket URL of the registry and the tables.
	Storage string  `yaml:"storage"`
	Online  Online  `yaml:"online"`
	Offline Offline `yaml:"offline"`
	Ingest  Ingest  `yaml:"ingest"`
	Serve   Serve   `yaml:"serve"`
	Log     Log     `yaml:"log"`

	dir string            // of the file; relative paths start there
	raw map[string]string // values with ${NAME}, by path, as they were written
}

// Online says where the latest rows are.
type Online struct {
	// Path is the folder of the embedded store. One process at a time has it open.
	Path string `yaml:"path"`
	// Cache is the memory for blocks that were read.
	Cache Size `yaml:"cache"`
}

// Offline bounds what retrievals and ingest take.
type Offline struct {
	// MemoryLimit bounds the buffers of sorts and joins.
	MemoryLimit Size `yaml:"memory_limit"`
	// TempDir is where sorted runs are kept while they are merged; empty is the
	// system's.
	TempDir string `yaml:"temp_dir"`
}

// Ingest says what is accepted.
type Ingest struct {
	// MaxFuture is how far ahead of the clock a pushed row may be dated.
	MaxFuture Duration `yaml:"max_future"`
}

// Serve says how the HTTP surface is served.
type Serve struct {
	Listen          string   `yaml:"listen"`
	MaxBody         Size     `yaml:"max_body"`         // of a JSON body, decoded
	MaxStream       Size     `yaml:"max_stream"`       // of a push or a spine, decoded
	RequestTimeout  Duration `yaml:"request_timeout"`  // of a request that is not a stream
	StreamTimeout   Duration `yaml:"stream_timeout"`   // of one that is
	IdleTimeout     Duration `yaml:"idle_timeout"`     // between reads, writes, requests
	ShutdownTimeout Duration `yaml:"shutdown_timeout"` // for requests in flight at a stop
}

// Log says what is logged, to standard error.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn or error
	Format string `yaml:"format"` // text or json
}

// Default returns the configuration of no file at all, with relative paths
// starting at dir.
func Default(dir string) *Config {
	return &Config{
		Project:     "default",
		Definitions: []string{"features.yaml"},
		Storage:     ".granary",
		Online:      Online{Path: ".granary/online", Cache: 256 << 20},
		Offline:     Offline{MemoryLimit: 256 << 20},
		Ingest:      Ingest{MaxFuture: Duration(time.Minute)},
		Serve: Serve{
			Listen: "127.0.0.1:7787", MaxBody: 32 << 20, MaxStream: 4 << 30,
			RequestTimeout: Duration(30 * time.Second), StreamTimeout: Duration(time.Hour),
			IdleTimeout: Duration(time.Minute), ShutdownTimeout: Duration(30 * time.Second),
		},
		Log: Log{Level: "warn", Format: "text"},
		dir: dir,
	}
}

// Dir returns the folder that relative paths start at.
func (c *Config) Dir() string { return c.dir }

// StorageURL returns Storage with a relative path made to start at Dir.
func (c *Config) StorageURL() string { return c.Resolve(c.Storage) }

// OnlinePath returns Online.Path made to start at Dir.
func (c *Config) OnlinePath() string { return c.Resolve(c.Online.Path) }

// DefinitionPaths returns Definitions made to start at Dir.
func (c *Config) DefinitionPaths() []string {
	out := make([]string, len(c.Definitions))
	for i, path := range c.Definitions {
		out[i] = c.Resolve(path)
	}
	return out
}

// Resolve makes a relative path start at Dir; an absolute one and a URL stay as
// they are.
func (c *Config) Resolve(path string) string {
	if path == "" || filepath.IsAbs(path) || strings.Contains(path, "://") {
		return path
	}
	return filepath.Join(c.dir, path)
}
