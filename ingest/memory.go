package ingest

import "bytes"

// memoryBlob is a body in memory.
type memoryBlob struct{ *bytes.Reader }

func newMemory(data []byte) memoryBlob { return memoryBlob{bytes.NewReader(data)} }

// Close implements blob.
func (memoryBlob) Close() error { return nil }
