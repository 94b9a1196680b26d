package testutil

import (
	"os"
	"path/filepath"
	"syscall"
)

// lock takes an advisory lock on a file, which is made if it is not there, and
// returns what gives it back. The lock goes with the process.
func lock(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}
