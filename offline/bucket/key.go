package bucket

import (
	"strings"
	"unicode/utf8"

	"github.com/granary-ml/granary/feature"
)

// maxKeyBytes is what S3, the strictest, takes.
const maxKeyBytes = 1024

// tempDir is the folder below the root of a file bucket that holds objects
// while they are written. No key may begin with it.
const tempDir = ".granary-tmp"

// CheckKey tells whether every store takes a key as it stands: at most 1024
// bytes of UTF-8 without control characters, in segments joined by "/", none of
// which is empty, "." or "..". Spaces, percent signs and all of unicode are
// fine. The refusal is CodeInvalidArgument.
func CheckKey(op, key string) error {
	if why := keyFault(key); why != "" {
		return feature.Errorf(feature.CodeInvalidArgument, op, "key "+quote(key), "%s", why)
	}
	return nil
}

func keyFault(key string) string {
	switch {
	case key == "":
		return "the key is empty"
	case len(key) > maxKeyBytes:
		return "the key is longer than 1024 bytes"
	case !utf8.ValidString(key):
		return "the key is not valid UTF-8"
	case strings.ContainsFunc(key, isControl):
		return "the key holds a control character"
	}
	for i, segment := range strings.Split(key, "/") {
		switch {
		case segment == "" || segment == "." || segment == "..":
			return `the key has an empty, "." or ".." segment`
		case i == 0 && segment == tempDir:
			return "the folder " + tempDir + " is reserved"
		}
	}
	return ""
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// quote shortens a key for a message.
func quote(key string) string {
	const most = 120
	if len(key) > most {
		key = strings.ToValidUTF8(key[:most], "") + "…"
	}
	return `"` + key + `"`
}
