// Package gather builds columns from rows that lie scattered over other
// columns: sorting a buffer, merging runs and collecting the rows that a join
// has taken are all this. The loops are typed and allocate per column, never per
// row.
//
// It knows the Arrow types of features (columns.DataType) and no others.
package gather
