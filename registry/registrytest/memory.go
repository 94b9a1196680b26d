// Package registrytest holds the acceptance suite of a registry's storage, an
// in-memory storage, and a wrapper that injects faults.
package registrytest

import (
	"bytes"
	"context"
	"sync"

	"github.com/granary-ml/granary/feature"
)

// Memory is a storage in memory. It is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	files map[string][]byte
}

// NewMemory returns an empty storage.
func NewMemory() *Memory { return &Memory{files: map[string][]byte{}} }

// Get implements registry.Storage.
func (m *Memory) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.files[key]
	if !ok {
		return nil, feature.Errorf(feature.CodeNotFound, "registrytest.Get", "object "+key, "it is not there")
	}
	return bytes.Clone(data), nil
}

// PutIfAbsent implements registry.Storage.
func (m *Memory) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.files[key]; ok {
		return feature.Errorf(feature.CodeAlreadyExists, "registrytest.PutIfAbsent", "object "+key, "it is there")
	}
	m.files[key] = bytes.Clone(data)
	return nil
}
