//go:build unix

package runs

import (
	"errors"
	"os"
	"syscall"
)

const canLock = true

// tryLock takes the lock on a file if nobody has it.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
