package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// entityFlags are the ways to name entities on a command line.
type entityFlags struct {
	keys []string
	json string
}

func (e *entityFlags) add(cmd *cobra.Command, what string) {
	cmd.Flags().StringArrayVarP(&e.keys, "entity", "e", nil,
		what+" as key=value,value,…; given once for each join key, with as many values (default none)")
	cmd.Flags().StringVar(&e.json, "entities", "",
		`the same as JSON, such as {"origin": ["JFK"]}; @file reads a file, - standard input (default none)`)
}

func (e *entityFlags) given() bool { return len(e.keys) > 0 || e.json != "" }

// read returns the entities. The values of --entity are read by the types of
// the join keys, which the definitions tell.
func (e *entityFlags) read(ctx context.Context, a *app, b backend) (map[string][]wire.RawValue, error) {
	switch {
	case e.json != "" && len(e.keys) > 0:
		return nil, usagef("--entity and --entities say the same thing: give one of them")
	case e.json != "":
		return e.readJSON(a)
	}
	d, _, err := b.Definitions(ctx)
	if err != nil {
		return nil, err
	}
	types := map[string]feature.Type{}
	for _, entity := range d.Entities {
		for _, key := range entity.JoinKeys {
			types[key.Name] = key.Type
		}
	}
	out := map[string][]wire.RawValue{}
	for _, text := range e.keys {
		name, values, ok := strings.Cut(text, "=")
		typ, known := types[name]
		switch {
		case !ok:
			return nil, usagef("--entity: %q is not key=value,value,…", text)
		case !known:
			return nil, feature.Errorf(feature.CodeInvalidArgument, "", "entity "+name, "no entity has such a join key")
		}
		if _, twice := out[name]; twice {
			return nil, usagef("--entity: %s is given twice: put its values into one list", name)
		}
		for value := range strings.SplitSeq(values, ",") {
			v, err := feature.ParseText(typ, value)
			if err != nil {
				return nil, feature.Errorf(feature.CodeInvalidArgument, "", "entity "+name, "%w", err)
			}
			out[name] = append(out[name], v.AppendJSON(nil))
		}
	}
	return out, nil
}

func (e *entityFlags) readJSON(a *app) (map[string][]wire.RawValue, error) {
	data := []byte(e.json)
	var err error
	if path, ok := strings.CutPrefix(e.json, "@"); ok {
		data, err = os.ReadFile(filepath.Clean(path))
	} else if e.json == "-" {
		data, err = io.ReadAll(a.stdin)
	}
	if err != nil {
		return nil, err
	}
	var out map[string][]wire.RawValue
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, usagef(`--entities: not a JSON object of arrays, such as {"origin": ["JFK"]}`)
	}
	return out, nil
}
