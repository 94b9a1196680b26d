package parquetio

import (
	"fmt"
	"runtime"
)

// guard runs f and turns a panic into an error. What the Arrow module does with
// bytes from outside is only ever run in here, and only what starts no goroutine
// of its own, because a panic there cannot be recovered by anybody.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged, or of an unknown kind: %v%s", r, where(r))
		}
	}()
	return f()
}

// where tells the function that a runtime error came from, to tell a fault of
// ours from a fault in the file; a panic with a message tells by itself.
func where(r any) string {
	if _, ok := r.(runtime.Error); !ok {
		return ""
	}
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		frame, more := frames.Next()
		if frame.Function != "" && frame.Function[:min(8, len(frame.Function))] != "runtime." {
			return " in " + frame.Function
		}
		if !more {
			return ""
		}
	}
}
