package feature

// Source says where the rows of views come from and how to read them. Several
// views may share one source, each taking the columns it names.
type Source struct {
	Name string `json:"name"`
	// Path is a file, a glob, or a folder or bucket prefix ending in "/"; empty
	// for a source whose rows are only pushed. Local paths are relative to the
	// definitions' folder.
	Path string `json:"path,omitempty"`
	// Format is how the files are written; empty takes it from their names
	// (.csv, .ndjson, .jsonl, .json, .parquet, .arrow, before .gz or .zst).
	Format Format `json:"format,omitempty"`
	// CSV says how CSV is spelled; the zero value is RFC 4180 with a header.
	CSV CSVOptions `json:"csv,omitzero"`
	// Columns maps a column of the source to the view's name for it. A column
	// that is not listed keeps its name.
	Columns map[string]string `json:"columns,omitempty"`
	// Incomplete says what becomes of rows without a join key or an event
	// timestamp: "reject" (the default: they are dead letters) or "skip" (they
	// are only counted).
	Incomplete  Incomplete        `json:"incomplete,omitempty"`
	Description string            `json:"description,omitempty"`
	Owner       string            `json:"owner,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// Format is a file format.
type Format string

// The formats that are read.
const (
	FormatByName  Format = ""
	FormatCSV     Format = "csv"
	FormatNDJSON  Format = "ndjson"
	FormatParquet Format = "parquet"
	FormatArrow   Format = "arrow" // IPC file or stream
	FormatJSON    Format = "json"  // one document: columns of one length, or an array of rows
)

// Incomplete is what becomes of rows without a join key or an event timestamp.
type Incomplete string

// The choices for incomplete rows.
const (
	IncompleteDefault Incomplete = "" // as reject
	IncompleteReject  Incomplete = "reject"
	IncompleteSkip    Incomplete = "skip"
)

// CSVOptions say how CSV is spelled.
type CSVOptions struct {
	// Delimiter is one character, "," if empty; "\t" for tabs.
	Delimiter string `json:"delimiter,omitempty"`
	// Quote is one character, `"` if empty; "none" switches quoting off.
	Quote string `json:"quote,omitempty"`
	// Nulls are words that mean null when they stand unquoted, beside the empty
	// cell, which always does.
	Nulls []string `json:"nulls,omitempty"`
}

// IsZero tells whether every option has its default.
func (o CSVOptions) IsZero() bool { return o.Delimiter == "" && o.Quote == "" && len(o.Nulls) == 0 }
