package wire

import "encoding/json"

// RawValue is one JSON value, read by the type it is wanted in.
type RawValue = json.RawMessage
