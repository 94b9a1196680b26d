package delta

import (
	"net/url"
	"strings"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/bucket"
)

const hexDigits = "0123456789ABCDEF"

// encodePath writes the key of a file as the relative URI that the protocol
// asks for. More is escaped than a URI needs: engines that join it to the
// table's own URI take a colon for the end of a scheme.
func encodePath(key string) string {
	var b strings.Builder
	for i := range len(key) {
		c := key[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~/=", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}

// decodePath reads the path of an action. An absolute one belongs to a shallow
// clone, whose files lie in another table.
func decodePath(path string) (string, error) {
	key, err := url.PathUnescape(path)
	if err != nil {
		return "", feature.Errorf(feature.CodeDataLoss, "delta.read", "file "+path, "the path is not a URI: %w", err)
	}
	if scheme, _, ok := strings.Cut(path, ":"); strings.HasPrefix(key, "/") || (ok && !strings.Contains(scheme, "/")) {
		return "", feature.Errorf(feature.CodeFailedPrecondition, "delta.read", "file "+path,
			"the path is absolute (a shallow clone; copy the table instead)")
	}
	return key, bucket.CheckKey("delta.read", key)
}
