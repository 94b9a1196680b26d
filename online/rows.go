package online

// Rows holds the answer of a Read: one packed row, or nil, for each key of each
// lookup. It is an arena that is used again: the zero value is ready, and rows
// are valid until the next Reset, which every Read begins with. It must not be
// copied nor used by two goroutines at once.
type Rows struct {
	cells  [][]byte
	starts []int // the first cell of each lookup
	chunks [][]byte
	chunk  int // the chunk that is being filled
}

const (
	chunkBytes = 64 << 10
	// keepChunks bounds the memory that a Rows holds on to between reads.
	keepChunks = 64
)

// Row returns the packed row of a key of a lookup, by their positions in what
// Read was given; nil if there is none.
func (r *Rows) Row(lookup, key int) []byte { return r.cells[r.starts[lookup]+key] }

// Reset empties r and shapes it for the lookups; for backends.
func (r *Rows) Reset(lookups []Lookup) {
	r.starts = r.starts[:0]
	total := 0
	for _, l := range lookups {
		r.starts = append(r.starts, total)
		total += len(l.Keys)
	}
	clear(r.cells)
	if cap(r.cells) < total {
		r.cells = make([][]byte, total)
	}
	r.cells = r.cells[:total]
	if len(r.chunks) > keepChunks {
		clear(r.chunks[keepChunks:])
		r.chunks = r.chunks[:keepChunks]
	}
	for i := range r.chunks {
		r.chunks[i] = r.chunks[i][:0]
	}
	r.chunk = 0
}

// Copy sets a row to a copy of packed, which the caller may use again at once,
// and returns the copy; for backends.
func (r *Rows) Copy(lookup, key int, packed []byte) []byte {
	own := r.alloc(packed)
	r.Share(lookup, key, own)
	return own
}

// Share sets a row to packed itself, which nobody may change before the next
// Reset; for backends that hold rows in memory, and for a key asked for twice.
func (r *Rows) Share(lookup, key int, packed []byte) { r.cells[r.starts[lookup]+key] = packed }

// alloc copies b into the arena. Chunks are never moved, so that earlier rows
// stay valid; a row that is larger than a chunk gets memory of its own.
func (r *Rows) alloc(b []byte) []byte {
	if len(b) > chunkBytes/4 {
		return append(make([]byte, 0, len(b)), b...)
	}
	for r.chunk < len(r.chunks) && cap(r.chunks[r.chunk])-len(r.chunks[r.chunk]) < len(b) {
		r.chunk++
	}
	if r.chunk == len(r.chunks) {
		r.chunks = append(r.chunks, make([]byte, 0, chunkBytes))
	}
	chunk := r.chunks[r.chunk]
	start := len(chunk)
	chunk = append(chunk, b...)
	r.chunks[r.chunk] = chunk
	return chunk[start:len(chunk):len(chunk)]
}
