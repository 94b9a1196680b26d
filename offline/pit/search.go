package pit

// lowerBound returns the number of values below v in an ascending slice. It
// gallops from the front, where the answer mostly is.
func lowerBound(values []int64, v int64) int {
	lo, hi := 0, 1
	for hi <= len(values) && values[hi-1] < v {
		lo = hi
		hi *= 2
	}
	hi = min(hi, len(values))
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
