package online

import (
	"fmt"
	"strconv"

	"github.com/granary-ml/granary/feature"
)

// Replaces is the newer-than rule of every backend: it tells whether a packed
// row that is written now takes the place of the one that is stored (nil: none
// is). Damage in either is CodeDataLoss.
func Replaces(written, stored []byte) (bool, error) {
	if stored == nil {
		return true, nil
	}
	w, err := VersionOf(written)
	if err != nil {
		return false, err
	}
	s, err := VersionOf(stored)
	if err != nil {
		return false, err
	}
	return feature.Newer(w, s), nil
}

// CheckRows refuses rows that no backend may store, with CodeInvalidArgument
// and every fault named by its position; for backends, before they write.
func CheckRows(op string, rows []Row) error {
	var faults []feature.Fault
	for i := range rows {
		if err := checkRow(rows[i]); err != nil {
			faults = append(faults, feature.Fault{Field: rowField(i), Detail: err.Error()})
		}
	}
	return feature.Invalid(op, "", faults)
}

func checkRow(row Row) error {
	switch {
	case len(row.Key) > feature.MaxEntityKeyBytes:
		return fmt.Errorf("entity key of %d bytes, more than %d", len(row.Key), feature.MaxEntityKeyBytes)
	case len(row.Packed) > MaxRowBytes:
		return fmt.Errorf("packed row of %d bytes, more than %d", len(row.Packed), MaxRowBytes)
	}
	return Check(row.Packed)
}

func rowField(i int) string { return "rows[" + strconv.Itoa(i) + "]" }
