package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A folder of runs is DIR/granary-runs-XXXX, and beside it lies a file
// DIR/granary-runs-XXXX.lock, which is made and locked before the folder and
// removed after it. The lock belongs to the process: the system drops it when
// the process ends, however it ends. A folder whose lock can be had, or has no
// lock file, therefore belongs to nobody.

const (
	folderPrefix = "granary-runs-"
	lockSuffix   = ".lock"
)

// folder is a folder of runs that is ours.
type folder struct {
	path string
	lock *os.File
}

// makeFolder makes a folder of runs in dir, which is made, too.
func makeFolder(dir string) (*folder, error) {
	const private = 0o700
	if err := os.MkdirAll(dir, private); err != nil {
		return nil, err
	}
	for {
		lock, err := os.CreateTemp(dir, folderPrefix+"*"+lockSuffix)
		if err != nil {
			return nil, err
		}
		held, err := holds(lock)
		if err == nil && held {
			f := &folder{path: strings.TrimSuffix(lock.Name(), lockSuffix), lock: lock}
			if err := os.Mkdir(f.path, private); err != nil {
				return nil, errors.Join(err, f.remove())
			}
			return f, nil
		}
		// A sweep came between making the file and locking it.
		if err := errors.Join(err, lock.Close()); err != nil {
			return nil, err
		}
	}
}

// holds locks a lock file, and tells whether it then still has its name.
func holds(lock *os.File) (bool, error) {
	if ok, err := tryLock(lock); !ok || err != nil {
		return false, err
	}
	ours, err := lock.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(lock.Name())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return os.SameFile(ours, named), nil
}

// file returns the path of a run.
func (f *folder) file(i int) string { return filepath.Join(f.path, fmt.Sprintf("%06d.arrow", i)) }

// remove removes the folder with its runs, and then the lock.
func (f *folder) remove() error {
	err := os.RemoveAll(f.path)
	if gone := os.Remove(f.lock.Name()); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return errors.Join(err, f.lock.Close())
}

// Sweep removes the folders of runs in dir that dead processes left, and
// returns how many there were. Those of living processes stay. A dir that is
// not there has none. Where the system has no locks, all stay.
func Sweep(dir string) (int, error) {
	if !canLock {
		return 0, nil
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), folderPrefix) {
			continue
		}
		path := filepath.Join(dir, strings.TrimSuffix(e.Name(), lockSuffix))
		ok, err := sweepOne(path)
		if err != nil {
			return removed, err
		}
		if ok {
			removed++
		}
	}
	return removed, nil
}

// sweepOne removes one folder if it belongs to nobody.
func sweepOne(path string) (bool, error) {
	lock, err := os.OpenFile(path+lockSuffix, os.O_RDWR, 0) //nolint:gosec // a name of our own
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil // its sorter was faster
		}
		return err == nil, errors.Join(err, os.RemoveAll(path))
	}
	if errors.Is(err, fs.ErrPermission) {
		return false, nil // somebody else's
	}
	if err != nil {
		return false, err
	}
	held, err := holds(lock)
	if !held || err != nil {
		return false, errors.Join(err, lock.Close())
	}
	return true, (&folder{path: path, lock: lock}).remove()
}
