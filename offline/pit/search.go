package pit

// Seek returns the first index from on whose value in an ascending slice is not
// below v, len(values) if there is none. It gallops from where it starts, where
// the answer mostly is.
func Seek[T int64 | uint64](values []T, from int, v T) int {
	lo, step := from, 1
	for lo+step <= len(values) && values[lo+step-1] < v {
		lo += step
		step *= 2
	}
	hi := min(lo+step-1, len(values))
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if values[mid] < v {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// upperBoundFrom returns the number of values that are at most v in an ascending
// slice of which the first from are known to be.
func upperBoundFrom(values []int64, from int, v int64) int {
	lo, step := from, 1
	for lo+step <= len(values) && values[lo+step-1] <= v {
		lo += step
		step *= 2
	}
	hi := min(lo+step-1, len(values))
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if values[mid] <= v {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
