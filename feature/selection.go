package feature

// Selection is the ordered list of features that a lookup or a retrieval asks
// for, resolved at a revision.
type Selection struct {
	Revision int64
	Features []SelectedFeature
}

// SelectedFeature is one feature of a selection.
type SelectedFeature struct {
	View  *BoundView
	Index int    // of the feature in View.Features
	As    string // the name a service gave it, or empty
}

// Ref returns the reference of the feature.
func (s SelectedFeature) Ref() Ref {
	return Ref{View: s.View.Name, Feature: s.View.Features[s.Index].Name}
}

// Type returns the type of the feature.
func (s SelectedFeature) Type() Type { return s.View.Features[s.Index].Type }

// Slot returns the place of the feature in a packed row.
func (s SelectedFeature) Slot() int { return s.View.Slots[s.Index] }

// Name returns the column name of the feature: the service's name for it, else
// the full or the short name.
func (s SelectedFeature) Name(full bool) string {
	switch {
	case s.As != "":
		return s.As
	case full:
		return s.Ref().FullName()
	}
	return s.Ref().Feature
}

// Views returns the views of the selection, each once, in order of first use.
func (s Selection) Views() []*BoundView {
	var out []*BoundView
	seen := map[ViewID]bool{}
	for _, f := range s.Features {
		if !seen[f.View.ID] {
			seen[f.View.ID] = true
			out = append(out, f.View)
		}
	}
	return out
}

// JoinKeys returns the join keys of all views of the selection, each once, in
// order of first use. Two views that give one key name different types are a
// fault of the request.
func (s Selection) JoinKeys() ([]JoinKey, []Fault) {
	var keys []JoinKey
	var faults []Fault
	at := map[string]int{}
	for _, view := range s.Views() {
		for _, k := range view.Keys {
			i, seen := at[k.Name]
			switch {
			case !seen:
				at[k.Name] = len(keys)
				keys = append(keys, k)
			case keys[i].Type != k.Type:
				faults = append(faults, Fault{Field: "features", Detail: "join key " + k.Name + " is " + keys[i].Type.String() +
					" in one view and " + k.Type.String() + " in view " + view.Name + ": ask for them apart"})
			}
		}
	}
	return keys, faults
}
